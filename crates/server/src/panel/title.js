// The title of the tab: the number of approvals that wait, then what is shown.
let shown = "converse", waiting = 0;

function draw() {
  document.title = `${waiting ? `(${waiting}) ` : ""}${shown === "converse" ? shown : `${shown} · converse`}`;
}

export function setTitle(text) { shown = String(text).replace(/[\u0000-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, " ").slice(0, 120); draw(); }
export function setWaiting(count) { waiting = count; draw(); }
