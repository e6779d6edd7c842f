"use strict";
(() => {
  const bar = document.querySelector(".filters");
  if (!bar) return;
  const rows = document.querySelectorAll("[data-outcome]");
  const folds = document.querySelectorAll(".fold");
  const none = document.querySelector(".none");
  const off = new Set();
  const text = (name) => bar.elements[name].value.trim().toLowerCase();
  const fits = (row, chapter, revision, words) =>
    !off.has(row.dataset.outcome) &&
    (!chapter || row.dataset.chapter === chapter) &&
    (!revision || row.dataset.revisions.split(" ").includes(revision)) &&
    (!words || row.textContent.toLowerCase().includes(words));
  const filter = () => {
    const [chapter, revision, words] = ["chapter", "revision", "words"].map(text);
    for (const row of rows) row.hidden = !fits(row, chapter, revision, words);
    for (const fold of folds) fold.hidden = !fold.querySelector("[data-outcome]:not([hidden])");
    if (none) none.hidden = Boolean(document.querySelector("article:not([hidden])"));
  };
  bar.addEventListener("click", ({ target }) => {
    const outcome = target.dataset.shows;
    if (!outcome) return;
    if (!off.delete(outcome)) off.add(outcome);
    target.setAttribute("aria-pressed", String(!off.has(outcome)));
    filter();
  });
  bar.addEventListener("input", filter);
  bar.addEventListener("submit", (event) => event.preventDefault());
  bar.hidden = false;
})();
