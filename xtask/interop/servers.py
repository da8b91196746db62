"""The servers: what each is, what it offers, and what is tried with it."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import Callable

PAGE, WORDS = "/moon.txt", "the moon is made of cheese"
# In the environment of converse, and to be in that of no server.
CANARY = "INTEROP_CANARY"
KITS = {
    "npm": "interop/npm",
    "more": "interop/more",
    "clients": "interop/clients",
    "catalogue": "interop/catalogue",
    "libraries": "interop/libraries",
    "agents": "interop/agents",
    **{name: f"interop/python/{name}.txt" for name in ("time", "git", "fetch", "sqlite", "calculator")},
    **{name: f"interop/python/{name}.txt" for name in ("catalogue-1", "catalogue-2", "libraries-1", "libraries-2")},
}
# With `--all` only: what the gate has no time to install.
DEAR = ("catalogue-1", "catalogue-2", "libraries", "libraries-1", "libraries-2", "agents")
SKIPPED = {"markitdown": "its packages are 500 MB"}


# --- checks: each takes a run and returns what is wrong


def check(wanted, is_so):
    return lambda ran: None if is_so(ran) else f"expected: {wanted}"


def says(text):
    return check(f"stdout says {text!r}", lambda ran: text in ran.stdout)


def once(text):
    return check(f"stdout says {text!r} exactly once", lambda ran: ran.stdout.count(text) == 1)


def lacks(text):
    return check(f"stdout does not say {text!r}", lambda ran: text not in ran.stdout)


def complains(text):
    return check(f"stderr says {text!r}", lambda ran: text in ran.stderr)


def is_(pointer, value):
    def find(found):
        for key in pointer.split("/")[1:]:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    return check(f"`{pointer}` is {value}", lambda ran: find(ran.json) == value)


def block(**wanted):
    """stdout is JSON with a content block that has these keys."""
    found = lambda ran: any(wanted.items() <= part.items() for part in ran.json.get("content") or [])
    return check(f"there is a content block {wanted}", found)


def invoked(*tools):
    """stdout is that of `ask -o json`: these tools of the server were invoked, in this order, each with success."""

    def right(ran):
        calls = [(call["tool"], call["outcome"]) for call in ran.json.get("invocations") or []]
        return calls == [(f"{ran.server}__{tool}", "success") for tool in tools]

    return check(f"invoked was {tools}, each with success", right)


def record(kind):
    """stdout is that of `ask -o jsonl`, with a record of this type."""

    def found(ran):
        return any(json.loads(line)["type"] == kind for line in ran.stdout.splitlines() if line.startswith("{"))

    return check(f"a `{kind}` record", found)


# --- steps: a run of converse, and what must come of it


@dataclass
class Step:
    # `call`: one tool, without a model. `ask`: the understudy finds the tool. `request`: what a model would be sent.
    kind: str
    arguments: list
    options: list = field(default_factory=list)
    checks: list = field(default_factory=list)
    exits: int = 0
    # Whether a rule allows the server's tools.
    allowed: bool = True

    def words(self, server, ensembles):
        """Returns the arguments of converse."""
        command = ["ensembles", "call"] if self.kind == "call" else ["ask", "-m", "understudy", "-e", server]
        rule = ["--allow", f"{server}.*"] if self.allowed else []
        named = [f"{server}.{self.arguments[0]}", *self.arguments[1:]] if self.kind == "call" else self.arguments
        return [*command, "--ensembles", ensembles, *rule, *self.options, *named]


def call(tool, *arguments, then=(), exits=0, as_json=False, asked=False):
    """A call. `asked`: no rule allows the tool, so it needs an approval."""
    return Step("call", [tool, *arguments], ["--json"] if as_json else [], list(then), exits, not asked)


def ask(prompt, *tools, then=()):
    """A question that is answered with these tools of the server."""
    return Step("ask", [prompt], ["-o", "json"], [invoked(*tools), *then])


def records(prompt, *then):
    return Step("ask", [prompt], ["-o", "jsonl"], list(then))


def request(options, *arguments, then=(), exits=0):
    return Step("request", list(arguments), [*options, "--dry-run"], list(then), exits)


def attached(server, uri, **options):
    """A resource of the server, as a model would be sent it."""
    return request(["-a", f"mcp:{server}:{uri}"], "What is this?", **options)


def prompted(server, prompt, *arguments, **options):
    """A prompt of the server, as a model would be sent it."""
    return request(["--prompt", f"{server}.{prompt}"], *arguments, **options)


# --- plans


@dataclass
class Plan:
    """What a server is started with, and the steps in order: later ones build on what earlier ones left."""

    steps: list
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    # What the server may ask of its client: lines of `[connection]`.
    grants: str = ""
    # Arguments with which it does not start, and what it says then.
    broken: tuple = ()


@dataclass
class Server:
    name: str
    kit: str
    program: str
    era: str
    # All tools that it offers to a client that can do nothing in return.
    tools: list
    plan: Callable
    http: bool = False


# The beginning of every PNG in base64: a model has no use for such text.
PNG = "iVBORw0KGgo"


def everything(server):
    def link(uri):
        return block(type="resource", uri=uri, mime="text/plain")

    return [
        call("echo", "message=cheese on the moon", then=[once("Echo: cheese on the moon")]),
        call("get-sum", "a=2", "b=3", then=[once("The sum of 2 and 3 is 5.")]),
        # Whatever a server says of its own tools: nobody was asked.
        call("echo", "message=x", asked=True, exits=8, then=[complains("approval")]),
        call("get-sum", "a=x", "b=3", exits=2, then=[complains("/a")]),
        call("nothing", exits=2, then=[complains(f"{server}.nothing")]),
        # It runs as a task only, which converse does not speak: an answer, and no silence.
        call("simulate-research-query", "topic=moons", exits=10, then=[complains("task")]),
        call("get-tiny-image", as_json=True, then=[says("image/png"), lacks(PNG)]),
        call("get-annotated-message", "messageType=error", "includeImage=true",
             then=[once("Error: Operation failed"), says("image/png"), lacks(PNG)]),
        call("get-resource-links", "count=2", as_json=True,
             then=[link("demo://resource/dynamic/blob/1"), link("demo://resource/dynamic/text/2")]),
        call("get-resource-reference", "resourceType=Text", "resourceId=1",
             then=[once("This is a plaintext resource"), says("demo://resource/dynamic/text/1")]),
        call("get-resource-reference", "resourceType=Blob", "resourceId=1", then=[says("demo://resource/dynamic/blob/1")]),
        call("gzip-file-as-resource", "data=data:text/plain,cheese", "outputType=resource", then=[says("application/gzip")]),
        # Once as text, once as structured content: one of them is enough.
        call("get-structured-content", "location=New York", then=[once('"temperature"')]),
        call("trigger-long-running-operation", "duration=1", "steps=2", then=[once("Long running operation completed")]),
        # Resources, prompts, and what is suggested for their arguments.
        attached(server, "demo://resource/static/document/architecture.md",
                 then=[says("This documentation summarizes the current layout")]),
        # One of a template.
        attached(server, "demo://resource/dynamic/text/7", then=[says("Resource 7: This is a plaintext resource")]),
        attached(server, "demo://nowhere", exits=2, then=[complains("demo://nowhere")]),
        prompted(server, "simple-prompt", then=[says("This is a simple prompt without arguments.")]),
        prompted(server, "args-prompt", "city=Paris", then=[says("What's weather in Paris?")]),
        prompted(server, "resource-prompt", "resourceType=Text", "resourceId=1",
                 then=[says("Please analyze the following resource"), says("Resource 1: This is a plaintext resource")]),
        prompted(server, "args-prompt", exits=2, then=[complains("`city`")]),
        prompted(server, "completable-prompt", exits=2, then=[complains("Engineering, Sales, Marketing, Support")]),
        prompted(server, "nothing", exits=2, then=[complains("no prompt `nothing`")]),
        ask('Echo "cheese on the moon"', "echo", then=[says("Echo: cheese on the moon")]),
        ask("What is the sum of 2 and 3?", "get-sum", then=[says("The sum of 2 and 3 is 5.")]),
        ask("Show me a tiny image", "get-tiny-image", then=[says("image/png"), lacks(PNG), lacks("no tool")]),
        ask("Get structured content for Chicago", "get-structured-content", then=[says("temperature")]),
        records("Demonstrate a long running operation: duration 1, steps 2",
                record("invocation.progress"), says("Long running operation completed")),
    ]  # fmt: skip


def everything_stdio(site, pages):
    environment = call("get-env", then=[says("INTEROP_DECLARED"), says("HOME"), lacks(CANARY)])
    return Plan([*everything("everything"), environment], ["stdio"], {"INTEROP_DECLARED": "given"})


def everything_http(site, pages):
    return Plan(everything("everything-http"), ["streamableHttp"])


def filesystem(site, pages):
    files = site.work / "files"
    files.mkdir()
    moon, new = files / "moon.txt", f"path={files}/new.txt"
    moon.write_text(f"{WORDS}\n")
    path = f"path={moon}"
    steps = [
        # Its results are there as text and again inside structured content.
        call("read_text_file", path, then=[once(WORDS)]),
        call("read_text_file", path, as_json=True, then=[once(WORDS)]),
        call("list_directory", f"path={files}", then=[once("[FILE] moon.txt")]),
        call("write_file", new, "content=5", then=[says("new.txt")]),
        call("read_multiple_files", json.dumps({"paths": [f"{files}/new.txt", str(moon)]}),
             then=[says("new.txt"), once(WORDS)]),
        call("read_media_file", path, then=[says("moon.txt")]),
        call("read_text_file", "path=/etc/passwd", exits=10, then=[complains("outside allowed directories")]),
        call("read_text_file", exits=2, then=[complains("path")]),
        ask(f"Read the text file {moon}", "read_text_file", then=[says(WORDS)]),
        ask(f"List the directory {files}", "list_directory", then=[says("moon.txt")]),
    ]  # fmt: skip
    return Plan(steps, [str(files)], broken=(["/nowhere"], "Cannot access directory /nowhere"))


def roots(site, pages):
    """Roots take the place of the directories that the server was started with."""
    told, started = site.work / "told", site.work / "started"
    for directory in (told, started):
        directory.mkdir()
        (directory / "moon.txt").write_text(f"{WORDS}\n")
    # It asks for them once it is initialized, and then looks at the directories: the first call waits for it.
    steps = [
        call("list_allowed_directories", then=[says(str(told)), lacks(str(started))]),
        call("read_text_file", f"path={told}/moon.txt", then=[once(WORDS)]),
        call("read_text_file", f"path={started}/moon.txt", exits=10,
             then=[complains("outside allowed directories")]),
        ask(f"Read the text file {told}/moon.txt", "read_text_file", then=[says(WORDS)]),
    ]  # fmt: skip
    return Plan(steps, [str(started)], grants='roots = ["told"]\n')


def memory(site, pages):
    def entities(name):
        return json.dumps([{"name": name, "entityType": "person", "observations": ["wrote programs"]}])

    steps = [
        call("create_entities", f'{{"entities": {entities("Ada")}}}', then=[once("wrote programs")]),
        call("create_entities", f"entities={entities('Bob')}", then=[once("Bob")]),
        call("read_graph", then=[once("Ada"), once("Bob"), once('"relations"')]),
        call("search_nodes", "query=Ada", then=[once("wrote programs")]),
        # A tool that says of itself that it only reads is asked for like any other.
        call("read_graph", asked=True, exits=8, then=[complains("approval")]),
        call("add_observations", 'observations=[{"entityName": "Eve", "contents": ["x"]}]', exits=10,
             then=[complains("Eve")]),
        ask("Read the knowledge graph", "read_graph", then=[says("wrote programs")]),
        ask('Search the knowledge graph for "Ada"', "search_nodes", then=[says("wrote programs")]),
    ]  # fmt: skip
    return Plan(steps, environment={"MEMORY_FILE_PATH": str(site.work / "memory.jsonl")})


def thinking(site, pages):
    thought = ["thought=one", "nextThoughtNeeded=false", "thoughtNumber=1", "totalThoughts=1"]
    # Four arguments that no plain sentence says.
    prompt = '@thinking.sequentialthinking thought="one" nextThoughtNeeded=false thoughtNumber=1 totalThoughts=1'
    return Plan([
        call("sequentialthinking", *thought, then=[once("thoughtHistoryLength")]),
        call("sequentialthinking", "thought=one", exits=2, then=[complains("thoughtNumber")]),
        ask(prompt, "sequentialthinking", then=[says("thoughtHistoryLength")]),
    ])  # fmt: skip


def time(site, pages):
    now = "get_current_time"
    steps = [
        call(now, "timezone=Asia/Tokyo", then=[once("Asia/Tokyo"), once("+09:00")]),
        call("convert_time", "source_timezone=Asia/Tokyo", "time=12:00", "target_timezone=Asia/Dubai",
             then=[once('"-5.0h"')]),
        call(now, "timezone=No/Where", exits=10, then=[complains("No/Where")]),
        call(now, "zone=UTC", exits=2, then=[complains("timezone")]),
        ask("What time is it in Tokyo?", now, then=[says("+09:00")]),
        ask("What time is it in Tokyo and in Dubai?", now, now, then=[says("+09:00"), says("+04:00")]),
    ]  # fmt: skip
    return Plan(steps, ["--local-timezone", "UTC"])


def git(site, pages):
    repository, message = site.work / "repository", "the first commit of all"
    repository.mkdir()
    env = {name: value for name, value in os.environ.items() if name != "GIT_DIR"}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", message]):
        subprocess.run(["git", *who, *words], cwd=repository, env=env, check=True)
    path = f"repo_path={repository}"
    steps = [
        call("git_log", path, "max_count=1", then=[once(message)]),
        call("git_status", path, then=[once("nothing to commit")]),
        call("git_show", path, "revision=HEAD", then=[says(message)]),
        call("git_status", "repo_path=/nowhere", exits=10, then=[complains("/nowhere")]),
        call("git_show", path, "revision=nothing", exits=10, then=[complains("nothing")]),
        ask(f"Show the commit log of {repository}", "git_log", then=[says(message)]),
        ask(f"What is the status of the repository {repository}?", "git_status", then=[says("nothing to commit")]),
    ]
    broken = (["--repository", "/nowhere"], "/nowhere does not exist")
    return Plan(steps, ["--repository", str(repository)], broken=broken)


def fetch(site, pages):
    page = f"url={pages}{PAGE}"
    steps = [
        call("fetch", page, then=[once(WORDS)]),
        call("fetch", page, "max_length=8", then=[says("start_index"), says("the moon")]),
        call("fetch", f"url={pages}/none", exits=10, then=[complains("404")]),
        call("fetch", page, "max_length=0", exits=2, then=[complains("max_length")]),
        ask(f"Fetch {pages}{PAGE}", "fetch", then=[says(WORDS)]),
    ]
    return Plan(steps, ["--ignore-robots-txt", "--allow-private-ips"])


def sqlite(site, pages):
    steps = [
        call("create_table", "query=CREATE TABLE moons (name TEXT, planet TEXT)", then=[says("created")]),
        call("write_query", "query=INSERT INTO moons VALUES ('Io', 'Jupiter')", then=[once("'affected_rows': 1")]),
        call("read_query", "query=SELECT name FROM moons", then=[once("[{'name': 'Io'}]")]),
        call("describe_table", "table_name=moons", then=[once("'planet'")]),
        # This one says an error as if it were an answer.
        call("read_query", "query=SELECT colour FROM moons", then=[once("no such column: colour")]),
        call("read_query", exits=2, then=[complains("query")]),
        ask("List the tables of the database", "list_tables", then=[says("moons")]),
        ask('Execute the query "SELECT name FROM moons"', "read_query", then=[says("'Io'")]),
    ]
    return Plan(steps, ["--db-path", str(site.work / "moons.db")])


def calculator(site, pages):
    return Plan([
        # As text, and as structured content around it.
        call("calculate", "expression=2 * (3 + 4)", then=[once("14")]),
        call("calculate", "expression=1 / 0", exits=10, then=[complains("division by zero")]),
        call("calculate", exits=2, then=[complains("expression")]),
        ask('@calculator.calculate expression="7 * 6"', "calculate", then=[says("42")]),
    ])  # fmt: skip


# No browser is started: each is told to look for one where none is, so that all machines are alike.


def playwright(site, pages):
    gone = "executable doesn't exist at /nowhere"
    steps = [
        call("browser_tabs", "action=list", exits=10, then=[complains(gone)]),
        call("browser_navigate", exits=2, then=[complains("`url` is missing")]),
        call("browser_tabs", "action=list", asked=True, exits=8, then=[complains("approval")]),
        records("@playwright.browser_tabs action=list", says(gone)),
    ]
    return Plan(steps, ["--headless", "--executable-path", "/nowhere"])


def chrome(site, pages):
    gone = "Browser was not found"
    steps = [
        call("list_pages", exits=10, then=[complains(gone)]),
        call("navigate_page", "type=nonsense", exits=2, then=[complains("/type")]),
        records("@chrome.list_pages", says(gone)),
    ]
    return Plan(steps, ["--headless", "--executablePath", "/nowhere"])


def context7(name, *arguments):
    def plan(site, pages):
        # It says an error as if it were an answer.
        gone = "The library you are trying to access does not exist"
        steps = [
            call("resolve-library-id", "libraryName=moon", "query=cheese", then=[once(gone)]),
            call("resolve-library-id", "query=cheese", exits=2, then=[complains("libraryName")]),
            ask(f"@{name}.resolve-library-id libraryName=moon query=cheese", "resolve-library-id", then=[says(gone)]),
        ]
        # It would ask its vendor: here it asks a page that is not there. And it would offer figures at a fixed port.
        quiet = {"CONTEXT7_API_URL": f"{pages}/none", "OTEL_METRICS_EXPORTER": "none"}
        return Plan(steps, list(arguments), quiet)

    return plan


EVERYTHING = """echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content
    get-sum get-tiny-image gzip-file-as-resource simulate-research-query toggle-simulated-logging
    toggle-subscriber-updates trigger-long-running-operation""".split()
FILESYSTEM = """create_directory directory_tree edit_file get_file_info list_allowed_directories list_directory
    list_directory_with_sizes move_file read_file read_media_file read_multiple_files read_text_file search_files
    write_file""".split()
MEMORY = """add_observations create_entities create_relations delete_entities delete_observations delete_relations
    open_nodes read_graph search_nodes""".split()
GIT = """git_add git_branch git_checkout git_commit git_create_branch git_diff git_diff_staged git_diff_unstaged git_log
    git_reset git_show git_status""".split()
SQLITE = "append_insight create_table describe_table list_tables read_query write_query".split()
PLAYWRIGHT = """browser_click browser_close browser_console_messages browser_drag browser_drop browser_emulate_media
    browser_evaluate browser_file_upload browser_fill_form browser_find browser_handle_dialog browser_hover
    browser_navigate browser_navigate_back browser_network_request browser_network_requests browser_press_key
    browser_resize browser_run_code_unsafe browser_select_option browser_snapshot browser_tabs browser_take_screenshot
    browser_type browser_wait_for""".split()
CHROME = """click close_page drag emulate evaluate_script fill fill_form get_console_message get_css_styles
    get_network_request handle_dialog hover lighthouse_audit list_console_messages list_network_requests list_pages
    navigate_page new_page performance_analyze_insight performance_start_trace performance_stop_trace press_key
    resize_page screencast_start screencast_stop select_page take_heapsnapshot take_screenshot take_snapshot type_text
    upload_file wait_for""".split()
CONTEXT7 = ["query-docs", "resolve-library-id"]

ALL = [
    Server("everything", "npm", "mcp-server-everything", "legacy", EVERYTHING, everything_stdio),
    Server("everything-http", "npm", "mcp-server-everything", "legacy", EVERYTHING, everything_http, http=True),
    Server("filesystem", "npm", "mcp-server-filesystem", "legacy", FILESYSTEM, filesystem),
    # The same, told by its client where it may go.
    Server("filesystem-roots", "npm", "mcp-server-filesystem", "legacy", FILESYSTEM, roots),
    Server("memory", "npm", "mcp-server-memory", "legacy", MEMORY, memory),
    Server("thinking", "npm", "mcp-server-sequential-thinking", "legacy", ["sequentialthinking"], thinking),
    Server("time", "time", "mcp-server-time", "modern", ["convert_time", "get_current_time"], time),
    Server("git", "git", "mcp-server-git", "modern", GIT, git),
    Server("fetch", "fetch", "mcp-server-fetch", "modern", ["fetch"], fetch),
    Server("sqlite", "sqlite", "mcp-server-sqlite", "legacy", SQLITE, sqlite),
    Server("calculator", "calculator", "mcp-server-calculator", "legacy", ["calculate"], calculator),
    Server("playwright", "more", "playwright-mcp", "legacy", PLAYWRIGHT, playwright),
    Server("chrome", "more", "chrome-devtools-mcp", "legacy", CHROME, chrome),
    Server("context7", "more", "context7-mcp", "modern", CONTEXT7, context7("context7")),
    # One that was written with the newest library for Node, over HTTP.
    Server("context7-http", "more", "context7-mcp", "modern", CONTEXT7,
           context7("context7-http", "--transport", "http", "--port", "{port}"), http=True),
]  # fmt: skip
