//! Servers with long lists: browsers (of which none is started: there is none where they are told to look), and one that
//! was written with the newest library for Node, on both transports.

use super::{Era, Plan, Server, Transport};
use crate::Result;
use crate::interop::check::{complains, once, says};
use crate::interop::install::MORE;
use crate::interop::pages::Pages;
use crate::interop::site::Site;
use crate::interop::step::{Step, ask, call, records};

pub(crate) const PLAYWRIGHT: Server = Server {
    name: "playwright",
    kit: MORE,
    program: "playwright-mcp",
    transport: Transport::Stdio,
    era: Era::Legacy,
    tools: &[
        "browser_click",
        "browser_close",
        "browser_console_messages",
        "browser_drag",
        "browser_drop",
        "browser_emulate_media",
        "browser_evaluate",
        "browser_file_upload",
        "browser_fill_form",
        "browser_find",
        "browser_handle_dialog",
        "browser_hover",
        "browser_navigate",
        "browser_navigate_back",
        "browser_network_request",
        "browser_network_requests",
        "browser_press_key",
        "browser_resize",
        "browser_run_code_unsafe",
        "browser_select_option",
        "browser_snapshot",
        "browser_tabs",
        "browser_take_screenshot",
        "browser_type",
        "browser_wait_for",
    ],
    plan: playwright,
};

pub(crate) const CHROME: Server = Server {
    name: "chrome",
    program: "chrome-devtools-mcp",
    tools: &[
        "click",
        "close_page",
        "drag",
        "emulate",
        "evaluate_script",
        "fill",
        "fill_form",
        "get_console_message",
        "get_css_styles",
        "get_network_request",
        "handle_dialog",
        "hover",
        "lighthouse_audit",
        "list_console_messages",
        "list_network_requests",
        "list_pages",
        "navigate_page",
        "new_page",
        "performance_analyze_insight",
        "performance_start_trace",
        "performance_stop_trace",
        "press_key",
        "resize_page",
        "screencast_start",
        "screencast_stop",
        "select_page",
        "take_heapsnapshot",
        "take_screenshot",
        "take_snapshot",
        "type_text",
        "upload_file",
        "wait_for",
    ],
    plan: chrome,
    ..PLAYWRIGHT
};

pub(crate) const CONTEXT7: Server = Server {
    name: "context7",
    program: "context7-mcp",
    era: Era::Modern,
    tools: &["query-docs", "resolve-library-id"],
    plan: context7,
    ..PLAYWRIGHT
};

pub(crate) const CONTEXT7_HTTP: Server =
    Server { name: "context7-http", transport: Transport::Http, plan: context7_http, ..CONTEXT7 };

/// So that it is the same on a machine that has a browser.
const NOWHERE: &str = "/nowhere";

fn playwright(_: &Site, _: &Pages) -> Result<Plan> {
    let gone = "executable doesn't exist at /nowhere";
    let steps = vec![
        call("browser_tabs", &["action=list"]).exits(10).with([complains(gone)]),
        call("browser_navigate", &[]).exits(2).with([complains("`url` is missing")]),
        call("browser_tabs", &["action=list"]).unasked().exits(8).with([complains("approval")]),
        records("@playwright.browser_tabs action=list").with([says(gone)]),
    ];
    Ok(Plan { arguments: browser("--executable-path"), steps, ..Plan::default() })
}

fn chrome(_: &Site, _: &Pages) -> Result<Plan> {
    let gone = "Browser was not found";
    let steps = vec![
        call("list_pages", &[]).exits(10).with([complains(gone)]),
        call("navigate_page", &["type=nonsense"]).exits(2).with([complains("/type")]),
        records("@chrome.list_pages").with([says(gone)]),
    ];
    Ok(Plan { arguments: browser("--executablePath"), steps, ..Plan::default() })
}

fn browser(path: &str) -> Vec<String> {
    ["--headless", path, NOWHERE].map(str::to_owned).into()
}

fn context7(_: &Site, pages: &Pages) -> Result<Plan> {
    Ok(Plan { environment: quiet(pages), steps: documentation(CONTEXT7.name), ..Plan::default() })
}

fn context7_http(_: &Site, pages: &Pages) -> Result<Plan> {
    let arguments = ["--transport", "http", "--port", "{port}"].map(str::to_owned).into();
    let steps = documentation(CONTEXT7_HTTP.name);
    Ok(Plan { arguments, environment: quiet(pages), steps, ..Plan::default() })
}

/// It would ask its vendor: here it asks a page that is not there. And it would offer its own figures at a fixed port.
fn quiet(pages: &Pages) -> Vec<(&'static str, String)> {
    vec![("CONTEXT7_API_URL", pages.url("/none")), ("OTEL_METRICS_EXPORTER", "none".to_owned())]
}

fn documentation(server: &str) -> Vec<Step> {
    let words = ["libraryName=moon", "query=cheese"];
    // It says an error as if it were an answer.
    let gone = "The library you are trying to access does not exist";
    let prompt = format!("@{server}.resolve-library-id libraryName=moon query=cheese");
    vec![
        call("resolve-library-id", &words).with([once(gone)]),
        call("resolve-library-id", &["query=cheese"]).exits(2).with([complains("libraryName")]),
        ask(server, &prompt, &["resolve-library-id"]).with([says(gone)]),
    ]
}
