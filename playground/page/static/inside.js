// The drawer of a thread: what is going on behind it. It asks the server only while it is open and the page is seen.

import { fetchText, parse } from "./net.js";

const EVERY_MS = 2000;
let timer = 0;
let shown = "";

const drawer = () => document.getElementById("inside");
const button = () => document.querySelector(".look-inside");

function localTimes(root) {
  root.querySelectorAll("time").forEach((time) => {
    time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  });
}

// A new section takes the place of the old one only when it differs: focus, selection and scrolling stay elsewhere.
function show(holder, html) {
  const fresh = parse(html);
  localTimes(fresh);
  const known = new Map([...holder.children].map((each) => [each.dataset.key, each]));
  const kept = [...fresh.children].map((each) => {
    const old = known.get(each.dataset.key);
    if (!old) return each;
    each.open = old.open;
    if (old.isEqualNode(each)) return old;
    if (!old.matches("details")) return each;
    for (const part of ["summary", "ol", ".inside-more"]) {
      const [before, after] = [old.querySelector(part), each.querySelector(part)];
      if (before && after && part === "summary") before.replaceChildren(...after.childNodes);
      else if (before && after) before.replaceWith(after);
      else if (before) before.remove();
      else if (after) old.append(after);
    }
    return old;
  });
  for (const each of [...holder.children]) if (!kept.includes(each)) each.remove();
  kept.forEach((each, place) => { if (holder.children[place] !== each) holder.insertBefore(each, holder.children[place] ?? null); });
}

async function refresh() {
  const panel = drawer();
  if (!panel || panel.hidden) return stop();
  if (document.hidden) return undefined;
  const { channel, thread } = panel.dataset;
  const html = await fetchText(`/fragments/inside/${channel}/${thread}`).catch(() => "");
  if (!html || html === shown || panel !== drawer()) return undefined;
  shown = html;
  show(panel.querySelector(".inside-body"), html);
  return undefined;
}

function stop() {
  clearInterval(timer);
  timer = 0;
}

export const isInsideOpen = () => Boolean(drawer() && !drawer().hidden);

export function toggleInside(open) {
  const panel = drawer();
  if (!panel) return;
  stop();
  panel.hidden = !open;
  button().setAttribute("aria-expanded", String(open));
  if (!open) {
    button().focus();
    return;
  }
  shown = "";
  panel.querySelector(".inside-body").replaceChildren();
  panel.querySelector("h2").focus();
  refresh();
  timer = setInterval(refresh, EVERY_MS);
}
