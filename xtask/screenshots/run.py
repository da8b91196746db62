"""Draws the pictures of docs/images: converse at a terminal, a provider that follows a script, the screen as SVG.

The same program draws the same pictures: what differs from run to run (times, identifiers) is replaced.
"""

import argparse
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from fcntl import ioctl
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import kit

# Bytes of a picture: documentation is read by people who wait for it.
MOST = 60 * 1024
MODEL = "openai-chat/gpt-5"
MODELS = ["gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4o"]
RAIN = """Bergen, by a wide margin: it lies **between seven mountains**, and the wind from the sea has to climb them.

| city | people | rain in a year | rainy days |
| --- | ---: | ---: | ---: |
| Oslo | 717 710 | 763 mm | 113 |
| Bergen | 291 940 | 2 250 mm | 239 |

To see it for yourself:

```python
import csv

rain = {row["city"]: int(row["mm"]) for row in csv.DictReader(open("rain.csv"))}
print(max(rain, key=rain.get))  # Bergen
```

1. Take a coat with a hood.
2. Leave the umbrella: *the wind has it before you do*.
"""
NARROW_RAIN = """**Bergen**, by a wide margin.

| city | rain in a year |
| --- | ---: |
| Oslo | 763 mm |
| Bergen | 2 250 mm |

- take a coat
- leave the umbrella: *the wind has it before you do*

```sh
sort -k2 -n rain.txt | tail -1
```
"""
# Answers when a file is there that says so: a picture can be taken in between.
WEATHER = r"""
[ensemble]
name = "weather"
description = "Forecasts for cities"

[defaults]
permission = "allow"
parallel = true

[[invokers]]
name = "forecast"
description = "Says what the weather will be"
command = { argv = ["sh", "-c", "until [ -e \"$0\" ] || [ -e all ]; do sleep 0.05; done; echo \"rain, 4 to 9 °C\"", "{city}", "{days}"] }
arguments = { type = "object", properties = { city = { type = "string" }, days = { type = "integer" } }, required = ["city"] }
"""
# Asks three questions, and then shows what there is.
SHELL = r"""
for words in "Where does it rain more?" "What do I pack for Bergen?" "How many mountains has it?"; do
  "$1" ask "$words" -m openai-chat/gpt-5 --no-tools </dev/null >/dev/null 2>&1
done
program=$1
shift
[ "$1" = repl ] || printf '$ converse %s\n' "$*"
exec "$program" "$@"
"""


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# A project: the program of the answer above, and its repository.
RAIN_PY = """import csv
import sys


def most(path):
    with open(path) as file:
        rain = {row["city"]: int(row["mm"]) for row in csv.DictReader(file)}
    return min(rain, key=rain.get)


print(most(sys.argv[1]))
"""


def edit(old, new):
    return [("io__edit_file", compact({"path": "cities.py", "old_text": old, "new_text": new}))]


FIX = edit("return min(rain, key=rain.get)", "return max(rain, key=rain.get)")
NAME = edit("print(most(sys.argv[1]))", 'print("most rain:", most(sys.argv[1]))')
PACKING = compact({"path": "packing.md", "content": "# For Bergen\n\n- a coat with a hood\n- boots\n- a book\n"})


# --- the provider


def forecasts(*cities):
    return [("weather__forecast", compact({"city": city, "days": 3})) for city in cities]


def stream(says):
    """Returns a reply as a stream of OpenAI's chat: a text, or calls of tools."""

    def chunk(choices, usage=None):
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-5"}
        return f"data: {json.dumps({**head, 'choices': choices, 'usage': usage})}\n\n"

    def delta(delta, stop=None):
        return chunk([{"index": 0, "delta": delta, "finish_reason": stop}])

    body = delta({"role": "assistant", "content": ""})
    if isinstance(says, str):
        body += "".join(delta({"content": word}) for word in re.findall(r"[^ ]* |[^ ]+$", says))
        written = len(says.encode()) // 4
    else:
        for index, (name, arguments) in enumerate(says):
            call = {
                "index": index,
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            body += delta({"tool_calls": [call]})
        written = 24 * len(says)
    body += delta({}, "stop" if isinstance(says, str) else "tool_calls")
    return (
        body
        + chunk([], {"prompt_tokens": 1842, "completion_tokens": written, "total_tokens": 1842 + written})
        + "data: [DONE]\n\n"
    )


def serve(script):
    """Serves the replies one after the other and returns the base URL."""
    replies = iter(script)

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self):
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "openai"} for name in MODELS]
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"object": "list", "data": models}).encode())

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(stream(next(replies, "The script is over.")).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


# --- the terminal


class Terminal:
    """A program at a terminal with a screen. It answers what terminals are asked."""

    def __init__(self, words, size, **options):
        import pyte

        # pyte knows no faint text: it is kept as blinking, which converse does not use.
        pyte.graphics.TEXT[2] = "+blink"

        class Screen(pyte.Screen):
            def select_graphic_rendition(self, *codes, **more):
                super().select_graphic_rendition(
                    *(one for code in codes for one in ((22, 25) if code == 22 else (code,))), **more
                )

            def report_device_attributes(self, *_, **__):
                self.write_process_input("\x1b[?1;2c")

        self.keyboard, program = pty.openpty()
        ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.child = subprocess.Popen(words, stdin=program, stdout=program, stderr=program, **options)
        os.close(program)
        self.screen = Screen(*size)
        self.screen.write_process_input = self.types
        self.stream = pyte.ByteStream(self.screen)

    def types(self, keys):
        os.write(self.keyboard, keys.encode())

    def listens(self):
        """Takes in what is written within a moment. Returns whether there was something."""
        if not select.select([self.keyboard], [], [], 0.02)[0]:
            return False
        try:
            data = os.read(self.keyboard, 65536)
        except OSError:
            return False
        self.stream.feed(data)
        return bool(data)

    def until(self, what, is_so):
        end = time.monotonic() + 30
        while not is_so("\n".join(line.rstrip() for line in self.screen.display)):
            if time.monotonic() > end:
                raise kit.Failed("\n".join([f"no {what} in", *self.screen.display]))
            self.listens()

    def answers(self, words):
        """Waits until the words are on the screen and the cursor is behind an empty prompt."""

        def is_prompted(shown):
            line = shown.split("\n")[self.screen.cursor.y]
            before = line[: self.screen.cursor.x].rstrip()
            return words in shown and before.endswith(("❯", ">")) and len(line) <= self.screen.cursor.x

        self.until(words, is_prompted)

    def asks(self, words):
        self.answers("/help")
        self.types(words)
        self.until("what was typed", lambda shown: words[-6:] in shown.replace("\n", ""))
        self.types("\r")

    def ends(self):
        while self.child.poll() is None:
            self.listens()
        while self.listens():
            pass

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.keyboard)


# --- the scenes: each plays until its picture is on the screen


def start(terminal, work):
    terminal.answers("/help")
    terminal.types("/re")
    terminal.until("what was typed", lambda shown: "❯ /re" in shown)
    terminal.types("\t")
    terminal.until("a menu", lambda shown: "/retry" in shown and "/reasoning" in shown)


def answer(terminal, work):
    terminal.asks("Where does it rain more, in Oslo or in Bergen?")
    terminal.answers("umbrella")


def tools(terminal, work):
    terminal.asks("Do I need a coat this week in Oslo, Bergen or Tromsø?")
    terminal.until("three lines", lambda shown: shown.count("weather.forecast") == 3)
    (work / "Bergen").touch()
    terminal.until("one that is done", lambda shown: "°C" in shown)


def approval(terminal, work):
    terminal.asks("Write me a packing list for Bergen.")
    terminal.until("a question", lambda shown: "words = no, and why" in shown)


def usage(terminal, work):
    (work / "all").touch()
    terminal.asks("Do I need a coat in Bergen?")
    terminal.answers("take a coat.")
    terminal.types("/usage\r")
    terminal.answers("total: about")


def sessions(terminal, work):
    terminal.ends()
    # The prompt of the shell would be there.
    terminal.screen.cursor.hidden = True


def changes(terminal, work):
    terminal.asks("Why does @cities.py name Oslo?")
    terminal.until("a question", lambda shown: "words = no, and why" in shown)


def modes(terminal, work):
    terminal.answers("/help")
    terminal.types("\x1b[Z\x1b[Z")
    terminal.until("the mode", lambda shown: "accept-edits" in shown)
    terminal.asks("Why does @cities.py name Oslo?")
    terminal.answers("context left")


def ahead(terminal, work):
    terminal.asks("Do I need a coat this week in Oslo?")
    terminal.until("a call", lambda shown: "weather.forecast" in shown)
    terminal.types("And in Bergen?\r")
    terminal.until("a queued message", lambda shown: "queued: And in Bergen?" in shown)
    terminal.types("and boots")
    terminal.until("what was typed", lambda shown: "❯ and boots" in shown)


def rewind(terminal, work):
    terminal.answers("/help")
    terminal.types("\x1b[Z\x1b[Z")
    terminal.until("the mode", lambda shown: "accept-edits" in shown)
    terminal.asks("Why does @cities.py name Oslo?")
    terminal.answers("take the most")
    terminal.asks("Say what is printed.")
    terminal.answers("It says so now.")
    terminal.types("/rewind\r")
    terminal.until("a list", lambda shown: "back to which message?" in shown and "Esc leaves" in shown)


def finder(terminal, work):
    terminal.answers("/help")
    for name in ("src/main.rs", "src/schema.rs", "src/rain/maps.rs", "docs/search-maps.md", "Cargo.toml"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")
    terminal.types("what is wrong in @srcma")
    terminal.until("a list", lambda shown: "@srcma" in shown and shown.count("@src/rain/") == 1)


def pasted(terminal, work):
    terminal.answers("/help")
    terminal.types("Which city is this? ")
    lines = "\r".join(f"2026-{day // 28 + 1:02}-{day % 28 + 1:02}, {day % 17} mm" for day in range(200))
    terminal.types(f"\x1b[200~{lines}\x1b[201~")
    terminal.until("a mark", lambda shown: "[pasted 200 lines]" in shown.replace("\ufe01", ""))


def models(terminal, work):
    terminal.answers("/help")
    terminal.types("/model\r")
    terminal.until("a list", lambda shown: "which model?" in shown and "Esc leaves" in shown)


def resume(terminal, work):
    terminal.answers("/help")
    terminal.types("/resume\r")
    terminal.until("a list", lambda shown: "which one?" in shown)
    terminal.types("\x1b[B")
    terminal.until("the second one", lambda shown: "❯ 2" in shown)


def narrow(terminal, work):
    terminal.asks("Where does it rain more?")
    terminal.answers("tail -1")


# The size in cells, what the model says, and how the scene is played.
SCENES = {
    "start": ((88, 40), [], start),
    "answer": ((88, 40), [RAIN], answer),
    "tools": ((88, 40), [forecasts("Oslo", "Bergen", "Tromsø"), "Take a coat."], tools),
    "approval": ((88, 40), [[("io__write_file", PACKING)]], approval),
    "changes": ((88, 40), [FIX], changes),
    "modes": ((88, 40), [FIX, "It took the least rain; now it takes the most."], modes),
    "ahead": ((88, 40), [forecasts("Oslo"), "Take a coat."], ahead),
    "rewind": ((88, 40), [FIX, "Now it should take the most.", NAME, "It says so now."], rewind),
    "usage": ((88, 40), [forecasts("Bergen"), "In Bergen you always need one: take a coat."], usage),
    "sessions": ((100, 20), ["Bergen.", "Boots.", "Seven."], sessions),
    "resume": ((88, 24), ["In Bergen.", "A coat and boots.", "Seven."], resume),
    "finder": ((88, 20), [], finder),
    "pasted": ((88, 20), [], pasted),
    "models": ((100, 24), [], models),
    "light": ((88, 40), [RAIN], answer),
    "narrow": ((40, 44), [NARROW_RAIN], narrow),
}


def take(name, binary):
    """Plays a scene and returns its screen."""
    size, script, play = SCENES[name]
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for one in ("home", "work", "ensembles"):
            (place / one).mkdir()
        (place / "ensembles/weather.toml").write_text(WEATHER)
        if name in ("changes", "modes", "rewind"):
            (place / "work/cities.py").write_text(RAIN_PY)
            (place / "work/.git").mkdir()
            (place / "work/.git/HEAD").write_text("ref: refs/heads/wettest\n")
        words = [binary, "-m", MODEL, "--ensembles", place / "ensembles"]
        if name == "sessions":
            words = ["bash", "-c", SHELL, "bash", binary, "sessions", "list"]
        if name == "resume":
            words = ["bash", "-c", SHELL, "bash", binary, "repl", "-m", MODEL, "--no-tools"]
        env = {"PATH": kit.PATH, "HOME": str(place / "home"), "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC"}
        env |= {"OPENAI_BASE_URL": serve(script), "OPENAI_API_KEY": "none"}
        if name == "light":
            env["COLORFGBG"] = "0;15"
        terminal = Terminal(words, size, cwd=place / "work", env=env)
        try:
            play(terminal, place / "work")
            return terminal.screen
        finally:
            terminal.close()


# --- the picture: rows of cells, each a text, how many columns it takes, and its style

COLOURS = ["black", "red", "green", "brown", "blue", "magenta", "cyan", "white"]
SPINNER = "⠋⠹⠼⠧"


def rows(screen):
    """Returns the cells of a screen without what is empty at its ends."""
    import pyte

    def colour(name):
        # The program uses the sixteen colours that every terminal has, and that its user has chosen.
        if name in pyte.graphics.FG_BG_256:
            return min(pyte.graphics.FG_BG_256.index(name), 15)
        bright = name.startswith("bright")
        name = name.removeprefix("bright")
        return COLOURS.index(name) + 8 * bright if name in COLOURS else None

    found = []
    for y in range(screen.lines):
        cells = [screen.buffer[y][x] for x in range(screen.columns)]
        row = []
        for x, cell in enumerate(cells):
            style = (
                colour(cell.fg),
                colour(cell.bg),
                cell.bold,
                cell.blink,
                cell.italics,
                cell.underscore,
                cell.reverse,
            )
            # An empty text follows a wide character.
            wide = x + 1 < len(cells) and cells[x + 1].data == ""
            if cell.data:
                row.append((cell.data, 1 + wide, style))
        while row and row[-1][0] == " " and row[-1][2][1] is None and not row[-1][2][6]:
            row.pop()
        found.append(row)
    while found and not found[-1]:
        found.pop()
    return found


def masked(row):
    """Returns a row with what differs from run to run replaced: times, dates, identifiers, a spinner's phase."""
    row = [(SPINNER[1] if text in SPINNER else text, columns, style) for text, columns, style in row]
    text = "".join(cell[0][0] for cell in row)
    first = text[:1]
    fixed = "2 s" if first == SPINNER[1] else "420 ms" if first in ("✓", "✗") else "2.9 s"
    # From the end, so that what is before keeps its place.
    for found in reversed(list(re.finditer(r"(?<![^ ])[0-9.]+ +m?s(?![^ ])", text))):
        style = row[found.start()][2]
        row[found.start() : found.end()] = [(char, 1, style) for char in fixed]
    text = "".join(cell[0][0] for cell in row)
    # The day on which a model ends stays.
    for found in re.finditer(r"(?<!ends )(?<![^ ])[^ ]+", text):
        word, shape = found[0], re.sub(r"\d", "0", found[0])
        if re.fullmatch(r"01[0-9a-fA-F-]{6,}", word):
            same = "01a1c0de".ljust(len(word), "0")
        else:
            same = {"0000-00-00": "2026-11-22", "00:00": "09:41", "00:00:00": "09:41:00"}.get(shape, word)
        for at, char in enumerate(same if same != word else ""):
            row[found.start() + at] = (char, *row[found.start() + at][1:])
    return row


# --- SVG: a window with rounded corners, text that stays text, with paper of its own for light pages and dark ones

WIDTH, HEIGHT, MARGIN, BAR = 8.4, 19, 18, 36
# From the top of a row to the line that letters stand on.
BASELINE = 14
# Paper, ink and what is faint. Then black, red, green, yellow, blue, magenta, cyan, white, and their bright ones.
DARK = ("#1c1f2b", "#d5daea", "#8b93ad"), """#3b4058 #f2798f #9fd67f #e6c07b #7ba7f7 #c79bf2 #6fcbd6 #b9c1d9
    #7a82a0 #ff9aab #b8ec9a #f5d79a #9dbfff #dcb8ff #90e1ea #f4f6fc""".split()
LIGHT = ("#fafafc", "#23273a", "#6a7087"), """#23273a #b02a41 #2c741d #805a00 #2453c0 #843bb8 #0e6c79 #6a7087
    #565c75 #c43450 #38852a #946b00 #3965d6 #994fce #147e8e #23273a""".split()
FONT = "14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{title}">
<title>{title}</title>
<style>text{{font:{font};fill:{ink};white-space:pre}}.b{{font-weight:700}}.i{{font-style:italic}}.d{{fill:{faint}}}.u{{text-decoration:underline}}{colours}</style>
<rect x=".5" y=".5" width="{inner:.0f}" height="{low:.0f}" rx="10" fill="{paper}" stroke="#313648"/>
<circle cx="20" cy="18" r="5.5" fill="#f2798f"/><circle cx="38" cy="18" r="5.5" fill="#e6c07b"/><circle cx="56" cy="18" r="5.5" fill="#9fd67f"/>
<text x="{middle:.0f}" y="22" text-anchor="middle" class="d">{title}</text>
"""


def runs(row):
    """Joins cells that look alike, with no more than one blank between them: some viewers make one of several. Yields
    the column, the columns, the text and the style of each run."""
    column, found = 0, []
    for text, columns, style in row:
        is_gap = found and found[-1][2].endswith(" ") and text == " "
        # Blanks with paper are seen.
        if found and found[-1][3] == style and (style[1] is not None or style[6] or not is_gap):
            found[-1][1] += columns
            found[-1][2] += text
        else:
            found.append([column, columns, text, style])
        column += columns
    return found


def drawn(run, top, look):
    (page, letters, _), palette = look
    column, columns, text, (ink, paper, bold, dim, italic, underlined, inverse) = run
    x, out = MARGIN + column * WIDTH, ""
    colour = lambda index, other: other if index is None else palette[index]
    if inverse or paper is not None:
        fill = colour(ink, letters) if inverse else palette[paper]
        out += f'<rect x="{x:.1f}" y="{top:.1f}" width="{columns * WIDTH:.1f}" height="{HEIGHT}" fill="{fill}"/>\n'
    # A browser squeezes what begins with blanks.
    words = text.strip(" ")
    if not words:
        return out
    lead = len(text) - len(text.lstrip(" "))
    columns -= len(text) - len(words)
    classes = [name for name, is_set in (("b", bold), ("i", italic), ("u", underlined)) if is_set]
    if not inverse and (ink is not None or dim):
        classes.append("d" if ink is None else f"c{ink}")
    looks = f' class="{" ".join(classes)}"' if classes else ""
    looks += f' style="fill:{colour(paper, page)}"' if inverse else ""
    place = f'x="{x + lead * WIDTH:.1f}" y="{top + BASELINE:.1f}" textLength="{columns * WIDTH:.1f}"'
    return f"{out}<text {place}{looks}>{escape(words).replace('&#x27;', chr(39))}</text>\n"


def svg(screen, title, look=DARK):
    (paper, ink, faint), palette = look
    shown = rows(screen)
    picture = [masked(row) for row in shown]
    width, height = screen.columns * WIDTH + 2 * MARGIN, len(picture) * HEIGHT + BAR + 1.5 * MARGIN
    colours = "".join(f".c{index}{{fill:{colour}}}" for index, colour in enumerate(palette))
    values = {"inner": width - 1, "low": height - 1, "middle": width / 2, "font": FONT, "ink": ink, "paper": paper, "faint": faint}
    out = HEAD.format(width=width, height=height, title=title, colours=colours, **values)
    for at, row in enumerate(picture):
        out += "".join(drawn(run, BAR + MARGIN / 2 + at * HEIGHT, look) for run in runs(row))
    if not screen.cursor.hidden:
        y = screen.cursor.y
        # What was replaced before the cursor moves it.
        moved = sum(cell[1] for cell in picture[y]) - sum(cell[1] for cell in shown[y]) if y < len(picture) else 0
        x, top = MARGIN + (screen.cursor.x + moved) * WIDTH, BAR + MARGIN / 2 + y * HEIGHT + 1
        out += f'<rect x="{x:.1f}" y="{top:.1f}" width="{WIDTH}" height="{HEIGHT - 2}" fill="{ink}" opacity=".8"/>\n'
    return out + "</svg>\n"


def suite():
    parser = argparse.ArgumentParser(prog="cargo xtask screenshots")
    parser.add_argument("--binary", help="the converse to show; a release is built if it is not given")
    parser.add_argument("--only", action="append", choices=SCENES)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a picture differs")
    options = parser.parse_args()
    packages = kit.Kit("screenshots/requirements.txt").install(kit.place("screenshots")).dir
    sys.path += map(str, packages.glob("lib/python*/site-packages"))
    binary, is_good = kit.converse(options.binary, "--release", "--locked"), True
    for name in options.only or SCENES:
        title = "converse sessions list" if name == "sessions" else "converse"
        picture = svg(take(name, binary), title, LIGHT if name == "light" else DARK)
        if len(picture.encode()) > MOST:
            raise kit.Failed(f"{name}: {len(picture.encode())} bytes are too many")
        path = kit.ROOT / f"docs/images/{name}.svg"
        is_same = path.exists() and path.read_text() == picture
        if not options.check:
            path.write_text(picture)
        print(f"docs/images/{name}.svg", "as it was" if is_same else "DIFFERS" if options.check else "written")
        is_good = is_good and (is_same or not options.check)
    return is_good


if __name__ == "__main__":
    kit.main(suite)
