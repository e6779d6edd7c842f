"""Exploration: calls in rounds find arguments that work, within limits, and in the same order each time."""

import sqlite3
from base64 import b64decode
from contextlib import closing

import pytest

from mcp_conformance.client.tool_call import Call
from mcp_conformance.generation import example
from mcp_conformance.world.exploration import MAX_CALLS, Exploration
from mcp_conformance.world.folder import furnish
from mcp_conformance.world.known import Known, Origin, Owner
from mcp_conformance.world.made_up import statements
from mcp_conformance.world.members import Member
from mcp_conformance.world.ours import Ours
from mcp_conformance.world.ownership import Ownership, made_text
from mcp_conformance.world.refused import MAX_SAME
from mcp_conformance.world.world import World
from support.fake_tools import FakeTools, Refused

REVISION = "2025-11-25"
TEXT = made_text(0)


def explored(server, *known, limit=MAX_CALLS, folder=None, **choices):
    """Explore the tools of a server after their plain calls; return what was learned."""
    folders = () if folder is None else (str(folder.root),)
    ours = Ours(frozenset({"example"}), frozenset({TEXT}), folders)
    world = World(Ownership(TEXT, ours, **choices), folder)
    if folder is not None:
        world.add(folder.known())
    world.add(known)
    exploration = Exploration(world, REVISION, server.call, lambda _: limit)
    first = [server.call(one, plain(one)) for one in server.tools]
    server.calls.clear()
    exploration.explore(first)
    return exploration


def plain(tool):
    return example(tool.input_schema, REVISION)


def found(value, *keys):
    return Known(value, keys, Origin("the command"), Owner.FOUND, 3)


def test_a_value_that_a_refusal_quotes_is_tried():
    def status(repo_path: str):
        if repo_path != "/srv/repo":
            raise Refused(f"Repository path '{repo_path}' is outside the allowed repository '/srv/repo'")
        return "On branch main"

    server = FakeTools(status, reading={"status"})
    assert explored(server).best_of("status").arguments == {"repo_path": "/srv/repo"}
    assert len(server.calls) <= 2


def test_what_one_tool_made_another_gets():
    notes = {}

    def read_note(note_id: str):
        if note_id not in notes:
            raise Refused(f"Note '{note_id}' not found")
        return {"text": notes[note_id]}

    def create_note(text: str):
        notes["n-42ab17"] = text
        return {"note_id": "n-42ab17", "title": text}

    server = FakeTools(read_note, create_note, reading={"read_note"})
    assert explored(server).best_of("read_note").arguments == {"note_id": "n-42ab17"}


def test_a_tool_that_may_write_gets_nothing_that_was_found():
    def set_title(path: str):
        if path != "/srv/notes/a.txt":
            raise Refused(f"No such note: '{path}'. Available: '/srv/notes/a.txt'")
        return "done"

    server = FakeTools(set_title)
    assert explored(server, found("/srv/notes/a.txt", "path")).best_of("set_title") is None
    assert not any("/srv/notes" in one["path"] for one in server.of("set_title"))
    server = FakeTools(set_title)
    best = explored(server, found("/srv/notes/a.txt", "path"), uses_found=True).best_of("set_title")
    assert best.arguments == {"path": "/srv/notes/a.txt"}


def test_deleting_comes_last():
    names = []

    def remove_item(name: str):
        names.append("remove_item")
        if TEXT not in name:
            raise Refused(f"no item '{name}'")
        return "removed"

    def put_item(name: str):
        names.append("put_item")
        if TEXT not in name:
            raise Refused(f"'{name}' is a reserved name")
        return {"name": name}

    explored(FakeTools(remove_item, put_item))
    explored_names = names[2:]
    assert explored_names.index("remove_item") > len(explored_names) - 1 - explored_names[::-1].index(
        "put_item"
    )


def test_a_tool_whose_refusals_stay_the_same_is_left_alone():
    def fail(reason: str):
        raise Refused(f"It failed ({reason}).")

    server = FakeTools(fail)
    explored(server, *(found(f"value {number}", "reason") for number in range(20)), uses_found=True)
    assert 0 < len(server.calls) <= MAX_SAME + 1


def test_a_tool_without_a_network_is_left_alone():
    def fetch(url: str):
        raise Refused("fetch failed: getaddrinfo ENOTFOUND example.org")

    server = FakeTools(fetch, reading={"fetch"})
    explored(server, found("https://example.org/a", "url"))
    assert server.calls == []


def test_a_tool_that_works_is_called_again_only_with_what_the_server_knows():
    def echo(text: str):
        return f"You said {text}"

    server = FakeTools(echo)
    exploration = explored(server)
    assert server.calls == []
    assert exploration.best_of("echo") is None


def test_another_kind_of_answer_is_worth_a_few_calls():
    def search(query: str):
        return "1 note: plans" if query == "plans" else "Nothing was found"

    server = FakeTools(search, reading={"search"})
    assert explored(server, found("plans", "query")).best_of("search").arguments == {"query": "plans"}


def test_the_calls_of_a_tool_are_limited():
    def pick(color: str, size: str, shape: str):
        raise Refused(f"refused {len(server.calls)}: no such thing")

    server = FakeTools(pick, reading={"pick"})
    values = [found(f"{key} {number}", key) for key in ("color", "size", "shape") for number in range(9)]
    explored(server, *values, limit=7)
    assert len(server.calls) <= 7


def test_the_same_answers_make_the_same_calls():
    def pick(color: str, size: str):
        if (color, size) != ("red", "large"):
            raise Refused(f"No '{size}' of '{color}'. Colors: 'blue', 'red'. Sizes: 'small', 'large'.")
        return "picked"

    first, second = FakeTools(pick, reading={"pick"}), FakeTools(pick, reading={"pick"})
    explored(first)
    explored(second)
    assert first.calls == second.calls


def test_a_tool_that_deletes_gets_a_thing_made_for_it():
    items = set()

    def create_item(name: str):
        items.add(name)
        return {"name": name}

    def read_item(item: str):
        if item not in items:
            raise Refused(f"Item '{item}' not found")
        return {"item": item}

    def delete_item(item: str):
        if item not in items:
            raise Refused(f"Item '{item}' not found")
        items.remove(item)
        return "deleted"

    server = FakeTools(delete_item, read_item, create_item, reading={"read_item"})
    exploration = explored(server)
    assert exploration.best_of("delete_item").arguments["item"] == f"{TEXT}x1"
    assert exploration.best_of("read_item").arguments["item"] in items


def test_two_members_do_not_share_a_text():
    def link(source: str, target: str):
        if {source, target} - {"alpha", "omega"}:
            raise Refused("No such thing. Available: 'alpha', 'omega'")
        return f"{source} {target}"

    server = FakeTools(link, reading={"link"})
    known = [found("alpha", "source", "target"), found("omega", "source", "target")]
    best = explored(server, *known).best_of("link")
    assert best.arguments == {"source": "alpha", "target": "omega"}


def test_a_member_that_a_refusal_needs_is_added():
    def move(id: str, target: str = ""):
        if not target:
            raise Refused("target is required")
        return f"moved {id} to {target}"

    server = FakeTools(move)
    assert explored(server).best_of("move").arguments["target"] == TEXT


def test_one_of_several_members_is_added():
    def remind(id: str, date: str = "", days: int = 0):
        if not date and not days:
            raise Refused("One of 'date' and 'days' is required.")
        if date and days:
            raise Refused("'days' is not allowed with 'date'.")
        if date:
            raise Refused("date is not a date.")
        return "done"

    server = FakeTools(remind)
    assert explored(server).best_of("remind").arguments["days"] == 1


def test_a_member_that_no_refusal_names_is_added_if_a_value_fits():
    def draw(sheet: str, source: str, cell: str = ""):
        if not cell and sheet == "Sheet1":
            raise Refused("A sheet named 'Sheet1' already exists.")
        if sheet != "Sheet1":
            raise Refused(f"Sheet '{sheet}' not found. Available sheets: 'Sheet1'.")
        return f"drawn at {cell}"

    server = FakeTools(draw)
    known = Known("F1", ("cell",), Origin("folder"), Owner.MADE, 2)
    sheet = Known("Sheet1", ("sheet",), Origin("folder"), Owner.MADE, 2)
    assert explored(server, known, sheet).best_of("draw").arguments["cell"] == "F1"


def test_a_member_that_one_choice_forbids_another_needs():
    def validate(kind: str, minimum: int = 0, options: str = ""):
        if kind == "example":
            raise Refused("kind must be one of: whole, list")
        if kind == "list":
            raise Refused("minimum is only for whole numbers." if minimum else "list needs options.")
        if options:
            raise Refused("options are only for lists.")
        if not minimum:
            raise Refused("whole needs a minimum.")
        return "valid"

    assert explored(FakeTools(validate)).best_of("validate").arguments == {"kind": "whole", "minimum": 1}


def test_a_refusal_names_the_thing_that_another_tool_makes():
    tables = {}

    def set_table(sheet: str, range: str):
        if sheet != "Sales":
            raise Refused(f"No such sheet '{sheet}'. Use a sheet such as 'Sales'")
        tables["Table1"] = sheet
        return {"name": "Table1"}

    def add_filter(sheet: str, name: str):
        if tables.get(name) != sheet:
            raise Refused(f"Sheet '{sheet}' has no table or view '{name}'.")
        return "filtered"

    server = FakeTools(add_filter, set_table, reading={"add_filter"})
    best = explored(server).best_of("add_filter")
    assert best.arguments == {"sheet": "Sales", "name": "Table1"}


def test_what_is_not_open_yet_is_tried_again_when_it_may_be():
    # office-powerpoint-mcp-server 2.0.7: "No presentation is currently loaded or the specified ID is invalid"
    decks = []

    def create_deck(title: str):
        decks.append(f"deck-{len(decks)}")
        return {"deck_id": decks[-1]}

    def add_slide(layout: int = 0, title: str = "", fill: str = "", side: str = "", deck_id: str = ""):
        if deck_id not in decks:
            raise Refused("No deck is currently loaded or the specified ID is invalid")
        return {"message": f"Added {title}"}

    best = explored(FakeTools(create_deck, add_slide)).best_of("add_slide")
    assert best.arguments["deck_id"] in decks


def test_a_tool_that_a_refusal_names_shows_what_to_use():
    def open_box(label: str):
        if label != "red":
            raise Refused("label must be one of: red, blue")
        return "opened"

    def look_inside(label: str):
        if label != "red":
            raise Refused("Nothing is open; call open_box before.")
        return "a coin"

    server = FakeTools(look_inside, open_box, reading={"look_inside"})
    assert explored(server).best_of("look_inside").arguments == {"label": "red"}


def test_the_content_of_a_file_is_given_in_base64(tmp_path):
    def upload(path: str, content_base64: str):
        try:
            content = b64decode(content_base64, validate=True)
        except ValueError:
            raise Refused("content_base64 is not valid base64.") from None
        if not content.startswith(b"PK"):
            raise Refused("The uploaded content is not an .xlsx/.xlsm workbook.")
        return f"{len(content)} bytes at {path}"

    folder = furnish(tmp_path)
    best = explored(FakeTools(upload), folder=folder).best_of("upload")
    assert b64decode(best.arguments["content_base64"]) == folder.by_ending(".xlsx").read_bytes()


def test_numbers_that_were_found_are_places_in_a_file_of_ours(tmp_path):
    def count_tables():
        return {"tables": 0, "rows": 3}

    def colour_row(path: str, table_index: int, row_index: int):
        if table_index:
            raise Refused("Invalid table index. The document has 1 tables (0-0).")
        if row_index != 3:
            raise Refused("Invalid row index.")
        return "coloured"

    server = FakeTools(count_tables, colour_row, reading={"count_tables"})
    rows = found(3, "row_index")
    best = explored(server, rows, found(0, "table"), folder=furnish(tmp_path)).best_of("colour_row")
    assert (best.arguments["table_index"], best.arguments["row_index"]) == (0, 3)


def test_a_number_that_was_found_names_no_thing_beside_a_file_of_ours(tmp_path):
    def attach_file(path: str, issue_number: int):
        raise Refused(f"Issue {issue_number} not found. Existing issues: 42, 43")

    server = FakeTools(attach_file)
    explored(server, found(42, "issue_number"), folder=furnish(tmp_path))
    assert not {42, 43} & {one["issue_number"] for one in server.of("attach_file")}


def test_what_is_known_to_work_is_not_read_again_but_what_was_empty_is():
    notes = []

    def list_notes():
        return {"notes": list(notes)}

    def count_notes():
        return {"count": 7}

    def create_note(text: str):
        notes.append(text)
        return {"title": text}

    server = FakeTools(list_notes, count_notes, create_note, reading={"list_notes", "count_notes"})
    ours = Ours(frozenset({"example"}), frozenset({TEXT}))
    world = World(Ownership(TEXT, ours), None)
    first = [server.call(one, plain(one)) for one in server.tools[:2]]
    for call in first:
        world.learn_success(call, {})
    first.append(server.call(server.tools[2], plain(server.tools[2])))
    server.calls.clear()
    Exploration(world, REVISION, server.call, lambda _: MAX_CALLS).explore(first)
    assert (len(server.of("list_notes")), len(server.of("count_notes"))) == (1, 0)


def test_a_call_in_vain_is_made_again_only_once():
    def make_thing(name: str):
        if TEXT not in name:
            raise Refused("the name is reserved")
        return {"made": name, "number": len(server.calls)}

    def use_thing(thing: str):
        raise Refused(f"Thing '{thing}' not found")

    server = FakeTools(use_thing, make_thing)
    explored(server)
    used = [one["thing"] for one in server.of("use_thing")]
    assert max(map(used.count, used)) <= 2


def test_a_list_of_paths_is_explored():
    def add_files(paths: list):
        raise Refused(f"{paths} did not match any files: 'b.txt' is one")

    server = FakeTools(add_files, reading={"add_files"})
    assert explored(server).calls_of("add_files")


def test_the_name_of_what_was_made_is_known_from_a_statement():
    def create_table(query: str):
        return "created"

    server = FakeTools(create_table)
    world = World(Ownership(TEXT, Ours(frozenset(), frozenset({TEXT}))))
    world.learn_success(server.call(server.tools[0], {"query": f"CREATE TABLE {TEXT} (id INTEGER)"}), {})
    known = world.store.get(TEXT)
    assert (known.keys, known.owner) == (("name", "table"), Owner.MADE)


def test_an_optional_member_gets_what_worked_elsewhere():
    def read(sheet: str, range: str = ""):
        return "read"

    def show(range: str):
        return "shown"

    server = FakeTools(read, show, reading={"read", "show"})
    world = World(Ownership(TEXT, Ours()))
    sheet, range = found("Sheet1", "sheet"), found("A1:C4", "range")
    world.add([sheet, range])
    world.learn_success(server.call(server.tools[0], {"sheet": "Sheet1"}), {("sheet",): sheet})
    world.learn_success(server.call(server.tools[1], {"range": "A1:C4"}), {("range",): range})
    values, _ = world.known_of(server.tools[0], REVISION)
    assert values[("range",)] == ["A1:C4"]


def test_only_a_tool_that_may_write_any_statement_makes_a_table():
    member, execute = Member(("sql",), {}), "execute_query Execute a SQL query"
    assert next(statements(member, execute, TEXT, may_write=True)).startswith("CREATE TABLE")
    assert next(statements(member, execute, TEXT)) == f"SELECT * FROM {TEXT}"
    assert next(statements(member, "Execute a SQL SELECT", TEXT, may_write=True)) == f"SELECT * FROM {TEXT}"


def database(connection, answers):
    """Return a tool that executes any statement; ``answers`` gets what each has brought."""

    def execute_query(sql: str):
        """Execute a SQL query on the database."""
        try:
            rows = [list(row) for row in connection.execute(sql)]
        except sqlite3.Error as error:
            raise Refused(str(error)) from error
        answers.append(rows)
        return {"success": True, "rows": rows}

    return execute_query


def test_rows_that_were_stored_are_read():
    answers = []
    with closing(sqlite3.connect(":memory:")) as connection:
        exploration = explored(FakeTools(database(connection, answers)))
    assert exploration.best_of("execute_query").arguments == {"sql": f"SELECT * FROM {TEXT}"}
    assert answers[-1] == [[1, "example"]]


def test_no_row_is_stored_where_no_table_can_be_made():
    def execute_query(sql: str):
        """Execute a SQL query on the database."""
        if not sql.startswith("SELECT 1"):
            raise Refused("the database is read-only")
        return {"rows": [1, "example"]}

    server = FakeTools(execute_query)
    explored(server)
    assert not any("INSERT" in one["sql"] for one in server.of("execute_query"))


def plans_of(*, is_same=False):
    """Return tools of which one makes plans, with ids of its own, or names the same one each time."""
    plans = []

    def draft(title: str):
        plans.append(title)
        number = 1 if is_same else len(plans)
        return {"plan_id": f"p{number}", "steps": [{"title": title, "state": "open"}]}

    def finish(plan_id: str):
        if plan_id not in {f"p{number}" for number, _ in enumerate(plans, 1)}:
            raise Refused("Plan not found")
        return {"state": "finished"}

    return FakeTools(draft, finish)


def test_an_id_that_is_another_one_after_the_same_call_is_of_what_the_call_made():
    # csv-editor 4.2.3, load_csv_from_content; mcp-taskmanager 2.0.0, request_planning
    server = plans_of()
    best = explored(server).best_of("finish").arguments
    assert best["plan_id"] in {"p1", "p2", "p3"}
    assert server.of("draft")[:1] == [{"title": "example"}]


def test_an_id_that_is_the_same_after_the_same_call_was_there_before():
    server = plans_of(is_same=True)
    assert explored(server).best_of("finish") is None
    assert "p1" not in {one["plan_id"] for one in server.of("finish")}


def test_an_id_of_what_a_tool_takes_is_not_of_what_it_made():
    jobs = [f"job{number}" for number in range(9)]

    def claim_job(worker: str):
        return {"task_id": jobs.pop(), "worker": {"name": worker}}

    def finish(task_id: str):
        raise Refused(f"No task {len(task_id)}")

    server = FakeTools(claim_job, finish)
    explored(server)
    assert not any("job" in one["task_id"] for one in server.of("finish"))


def test_of_several_new_ids_that_of_what_the_tool_makes_counts():
    tickets, agents = [], [f"agent-{number}" for number in range(9)]

    def file_ticket(title: str):
        tickets.append(title)
        return {"title": {"text": title}, "ticket_id": f"t-{len(tickets)}", "agent_id": agents.pop()}

    def close_ticket(ticket_id: str):
        if ticket_id not in {f"t-{number}" for number, _ in enumerate(tickets, 1)}:
            raise Refused("No such ticket")
        return {"state": "closed"}

    def dismiss(agent_id: str):
        raise Refused("No such agent")

    server = FakeTools(file_ticket, close_ticket, dismiss)
    assert explored(server).best_of("close_ticket") is not None
    assert not any("agent-" in one["agent_id"] for one in server.of("dismiss"))


def test_what_the_best_call_made_comes_before_what_the_plainest_made(tmp_path):
    tables = {}

    def load_csv(content: str):
        header, *rows = [line.split(",") for line in content.splitlines()]
        tables[f"session-{len(tables)}"] = (header, rows)
        return {"session": f"session-{len(tables) - 1}", "columns": header, "rows": len(rows)}

    def sum_column(session: str, column: str):
        if session not in tables or column not in tables[session][0]:
            raise Refused("No such column")
        return {"sum": len(tables[session][1])}

    server = FakeTools(load_csv, sum_column, reading={"sum_column"})
    exploration = explored(server, folder=furnish(tmp_path))
    assert exploration.best_of("load_csv").arguments["content"].startswith("name,")
    assert exploration.best_of("sum_column").arguments["session"] == "session-1"


def test_ids_in_sentences_are_handed_on():
    accounts, projects, tickets = set(), set(), set()

    def sign_up(company: str, email: str):
        if "@" not in email:
            raise Refused(f"'{email}' is not an email address")
        accounts.add(f"AC-{len(accounts) + 17}")
        return f"Welcome {company}! Your account number is AC-{len(accounts) + 16}. Keep it."

    def launch_project(account_number: str, title: str):
        if account_number not in accounts:
            raise Refused(f"There is no account {account_number}.")
        projects.add(f"PR{len(projects) + 41}")
        return f"Project {title} is on its way. Its code is PR{len(projects) + 40}."

    def report_problem(project_code: str, summary: str):
        if project_code not in projects:
            raise Refused(f"Project code {project_code} is not registered.")
        tickets.add(len(tickets) + 71)
        return f"Thanks, we filed ticket {len(tickets) + 70} for {project_code}."

    def settle(ticket: int):
        if ticket not in tickets:
            raise Refused(f"Ticket {ticket}: no such ticket.")
        return f"Ticket {ticket} is settled."

    server = FakeTools(sign_up, launch_project, report_problem, settle)
    best = explored(server).best_of("settle").arguments
    assert best["ticket"] in tickets


@pytest.mark.parametrize(("slow", "calls", "works"), [(1, 1, True), (2, 1, False)])
def test_a_tool_is_left_alone_that_is_slow_twice(monkeypatch, slow, calls, works):
    def paint(color: str):
        if color != "teal":
            raise Refused(f"'{color}' is no color. Use one of: 'sky', 'teal'.")
        return "painted"

    server, seen = FakeTools(paint), []

    def is_slow(call):
        if call.reply not in seen:
            seen.append(call.reply)
        return seen.index(call.reply) < slow

    monkeypatch.setattr(Call, "is_slow", property(is_slow))
    exploration = explored(server)
    assert (exploration.best_of("paint") is not None, len(server.calls)) == (works, 2 if works else calls)
