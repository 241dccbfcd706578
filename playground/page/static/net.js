// Small helpers: asking the server, showing a note.

export function toast(text) {
  const note = document.createElement("div");
  note.className = "toast";
  note.textContent = text;
  document.querySelector(".toasts").append(note);
  setTimeout(() => note.remove(), 6000);
}

export async function send(path, body) {
  const multipart = body instanceof FormData;
  const answer = await fetch(path, {
    method: "POST",
    body: multipart ? body : JSON.stringify(body),
    headers: multipart ? {} : { "Content-Type": "application/json" },
  }).catch(() => { throw new Error("The playground does not answer."); });
  const reply = await answer.json().catch(() => ({ ok: false, error: `status ${answer.status}` }));
  if (!reply.ok) throw new Error(reply.error);
  return reply;
}

export function parse(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

export async function fetchText(path) {
  const answer = await fetch(path);
  return answer.ok ? answer.text() : "";
}
