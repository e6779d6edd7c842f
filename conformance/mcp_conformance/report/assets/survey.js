"use strict";
(() => {
  const PAGE = 100;
  const collator = new Intl.Collator("en", { numeric: true });
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  /* A row of the embedded data: its cells, and last the address of the server's page. */
  const built = (values, kinds) => {
    const row = document.createElement("tr");
    kinds.forEach((kind, column) => {
      const value = values[column];
      const cell = element(kind === "link" ? "th" : "td", "");
      if (kind === "link") {
        cell.scope = "row";
        const link = element("a", value);
        link.href = values.at(-1);
        cell.append(link);
      } else if (kind === "tag") cell.append(element("span", value, `tag ${value.replaceAll(" ", "-")}`));
      else cell.textContent = value;
      if (kind === "number") cell.className = "number";
      row.append(cell);
    });
    return row;
  };

  const listed = (section) => {
    const table = section.querySelector("table");
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const kinds = heads.map((head) => head.dataset.kind);
    const data = section.querySelector("script");
    const form = section.querySelector(".filters");
    const more = section.querySelector(".more");
    const valueOf = (cell, kind) => {
      const text = cell.dataset.value ?? cell.textContent;
      return kind === "number" && text ? Number(text) : text;
    };
    const rows = data
      ? JSON.parse(data.textContent).map((values) => ({ values }))
      : [...body.rows].map((row) => ({ row, values: kinds.map((kind, at) => valueOf(row.cells[at], kind)) }));
    for (const one of rows) one.words = one.values.slice(0, kinds.length).join("\n").toLowerCase();
    const buttons = [...(form?.querySelectorAll("[data-shows]") ?? [])];
    const selects = [...(form?.querySelectorAll("select") ?? [])];
    let order = rows;
    let limit = data ? PAGE : Infinity;

    const show = () => {
      const wanted = form?.querySelector("input").value.trim().toLowerCase() ?? "";
      const off = buttons.filter((one) => one.getAttribute("aria-pressed") === "false");
      const fits = ({ values, words }) =>
        words.includes(wanted) &&
        selects.every((one) => values[one.dataset.column].includes(one.value)) &&
        !off.some((one) => values[one.dataset.column] === one.dataset.shows);
      const found = order.filter(fits);
      body.replaceChildren(...found.slice(0, limit).map((one) => (one.row ??= built(one.values, kinds))));
      if (more) counted(found.length);
    };
    const counted = (number) => {
      const shown = Math.min(limit, number);
      more.textContent = `${shown.toLocaleString("en")} of ${number.toLocaleString("en")} shown`;
      if (shown === number) return;
      const button = element("button", `Show ${Math.min(1000, number - shown)} more`);
      button.type = "button";
      button.addEventListener("click", () => {
        limit += 1000;
        show();
        more.querySelector("button")?.focus();
      });
      more.append(button);
    };

    const compare = (one, other) =>
      typeof one === "number" && typeof other === "number" ? one - other : collator.compare(one, other);
    const sort = (column) => {
      const head = heads[column];
      const before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : kinds[column] === "number";
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const empty = (one) => one.values[column] === "";
      order = rows.toSorted(
        (one, other) =>
          empty(one) - empty(other) ||
          compare(one.values[column], other.values[column]) * (down ? -1 : 1),
      );
      show();
    };
    heads.forEach((head, column) => {
      const button = element("button", head.textContent);
      button.type = "button";
      button.addEventListener("click", () => sort(column));
      head.replaceChildren(button);
    });
    for (const button of buttons)
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false"));
        show();
      });
    form?.addEventListener("input", show);
    form?.addEventListener("submit", (event) => event.preventDefault());
    if (form) form.hidden = false;
    if (data) show();
  };
  document.querySelectorAll(".listed").forEach(listed);
})();
