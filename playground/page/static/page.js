// The page's own script: live updates, panes, clicks. The composer is in composer.js, tables in tables.js.

import { attachComposer } from "./composer.js";
import { isInsideOpen, toggleInside } from "./inside.js";
import { fetchText, parse, send, toast } from "./net.js";
import { enhanceTables } from "./tables.js";

const viewer = document.body.dataset.viewer;
const aside = document.querySelector("aside.thread");
const sidebar = document.querySelector(".sidebar");
const shade = document.querySelector(".shade");
const NEAR = 120;
const MARGIN = 12;

// Lists of messages

const panes = () => [...document.querySelectorAll(".messages")];
// A list rests at its end. Where an answer is taller than the list, it rests at the answer's first message.
const answerOf = (list) => {
  const messages = [...list.querySelectorAll(".message")];
  let first = messages.length - 1;
  while (messages[first]?.classList.contains("follow") && !messages[first - 1].querySelector(".files")) first -= 1;
  return messages[first];
};
const restOf = (list) => {
  const answer = answerOf(list);
  const end = list.scrollHeight - list.clientHeight;
  if (!answer) return end;
  const head = answer.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop - MARGIN;
  return Math.max(0, Math.min(end, head));
};
const isLow = (list) => list.scrollTop > restOf(list) - NEAR;
const toEnd = (list) => { list.scrollTop = Math.max(list.scrollTop, restOf(list)); };
const dayOf = (ts) => new Date(Number(ts) * 1000).toDateString();

function dayName(ts) {
  const today = new Date();
  const day = new Date(Number(ts) * 1000);
  if (day.toDateString() === today.toDateString()) return "Today";
  today.setDate(today.getDate() - 1);
  if (day.toDateString() === today.toDateString()) return "Yesterday";
  return day.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });
}

function line(className, text) {
  const element = document.createElement("div");
  element.className = className;
  element.textContent = text;
  return element;
}

function tidy(list) {
  list.querySelectorAll(".day, .thread-break").forEach((each) => each.remove());
  const messages = [...list.querySelectorAll(".message")];
  const inThread = list.dataset.pane === "thread";
  messages.forEach((message, place) => {
    const before = messages[place - 1];
    const newDay = !before || dayOf(before.dataset.ts) !== dayOf(message.dataset.ts);
    const soon = before && Number(message.dataset.ts) - Number(before.dataset.ts) < 300;
    const afterRoot = inThread && place === 1;
    message.classList.toggle(
      "follow",
      Boolean(soon && !newDay && !afterRoot && before.dataset.user === message.dataset.user && !before.querySelector(".replies")),
    );
    if (newDay && !inThread) message.before(line("day", dayName(message.dataset.ts)));
    if (afterRoot) message.before(line("thread-break", messages.length === 2 ? "1 reply" : `${messages.length - 1} replies`));
  });
  list.querySelectorAll("time").forEach((time) => {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    time.title = moment.toLocaleString();
  });
  enhanceTables(list);
}

// Where the focused element is in a message that is about to be redrawn; null when the focus is elsewhere.
function placeOf(element, message) {
  if (!message.contains(element)) return null;
  const action = element.dataset.action;
  const selector = action ? `[data-action="${CSS.escape(action)}"]` : element.tagName;
  return { selector, place: [message, ...message.querySelectorAll(selector)].indexOf(element) };
}

async function refresh(list, ts) {
  const { pane, channel } = list.dataset;
  const html = await fetchText(`/fragments/message/${channel}/${ts}?pane=${pane}`);
  const known = document.getElementById(`${pane}-${ts}`);
  const fresh = parse(html).querySelector(".message");
  const low = isLow(list);
  if (!fresh) {
    known?.remove();
  } else if (known) {
    const open = [...known.querySelectorAll("details")].map((each) => each.open);
    fresh.querySelectorAll("details").forEach((each, place) => { each.open = open[place] ?? each.open; });
    const focused = placeOf(document.activeElement, known);
    known.replaceWith(fresh);
    if (focused) [fresh, ...fresh.querySelectorAll(focused.selector)].at(focused.place)?.focus({ preventScroll: true });
  } else {
    fresh.classList.add("fresh");
    const later = [...list.querySelectorAll(".message")].find((each) => each.dataset.ts > ts);
    if (later) later.before(fresh); else list.append(fresh);
  }
  tidy(list);
  if (low || (!known && fresh?.dataset.user === viewer)) toEnd(list);
}

const queues = new Map();

function soon(list, ts) {
  const key = `${list.dataset.pane}-${ts}`;
  queues.set(key, (queues.get(key) ?? Promise.resolve()).then(() => refresh(list, ts)).catch(() => {}));
}

// Live notices

function showIn(list, { channel, ts, thread_ts: threadTs, only_for: onlyFor }) {
  if (list.dataset.channel !== channel || (onlyFor && onlyFor !== viewer)) return;
  if (list.dataset.pane === "thread" && list.dataset.thread === (threadTs || ts)) soon(list, ts);
  if (list.dataset.pane === "main") soon(list, threadTs || ts);
}

function onMessage(notice) {
  const { kind, channel, ts, thread_ts: threadTs, user, only_for: onlyFor } = notice;
  if (onlyFor && onlyFor !== viewer) return;
  const reply = threadTs && threadTs !== ts;
  panes().forEach((list) => showIn(list, notice));
  if (kind !== "message" || user === viewer || reply) return;
  if (channel === document.body.dataset.channel && !document.hidden) {
    fetch(`/read/${channel}`, { method: "POST" });
  } else {
    const row = document.querySelector(`.rooms a[data-channel="${CSS.escape(channel)}"]`);
    const badge = row?.querySelector(".badge");
    if (!badge) return;
    row.classList.add("unread");
    badge.hidden = false;
    badge.textContent = String(Number(badge.textContent || 0) + 1);
  }
}

function onStatus({ channel, thread_ts: threadTs, text }) {
  const main = panes().find((list) => list.dataset.pane === "main" && list.dataset.channel === channel);
  if (main && document.getElementById(`main-${threadTs}`)) soon(main, threadTs);
  const list = aside.querySelector(".messages");
  if (list?.dataset.thread !== threadTs) return;
  const status = aside.querySelector(".status");
  const name = status.querySelector(".status-text").textContent.split(" ")[0];
  status.querySelector(".status-text").textContent = `${name} ${text || "is working"}`;
  status.hidden = !text && status.querySelector(".stop").hidden;
}

function onSession({ thread_ts: threadTs, status }) {
  if (aside.querySelector(".messages")?.dataset.thread !== threadTs) return;
  const line = aside.querySelector(".status");
  line.querySelector(".stop").hidden = status !== "processing";
  if (status !== "processing" && line.querySelector(".status-text").textContent.endsWith("is working")) line.hidden = true;
}

function onPrompts({ channel, thread_ts: threadTs, prompts }) {
  const list = panes().find((each) => each.dataset.channel === channel && each.dataset.thread === threadTs);
  if (!list) return;
  const row = document.createElement("div");
  row.className = "prompts";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Suggested prompts");
  Object.assign(row.dataset, { channel, thread: threadTs });
  for (const { title, message } of prompts) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "button small prompt", textContent: title });
    button.dataset.message = message;
    row.append(button);
  }
  const pane = list.parentElement;
  pane.querySelector(":scope > .prompts")?.remove();
  pane.querySelector(":scope > .status, :scope > .composer").before(row);
}

async function onHome({ user }) {
  if (user !== viewer || !document.querySelector(".home")) return;
  const html = await fetchText("/home?quietly=1");
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector(".home");
  document.querySelector(".home").replaceWith(document.adoptNode(fresh));
}

const handlers = {
  message: onMessage,
  changed: onMessage,
  deleted: onMessage,
  status: onStatus,
  session: onSession,
  prompts: onPrompts,
  home: onHome,
  view: ({ user }) => user === viewer && showView(),
  stale: () => location.reload(),
  reset: () => location.assign(`/${document.body.dataset.channel}`),
};

let missed = null;

function listenLive() {
  const feed = new EventSource(`/feed?after=${document.body.dataset.feed}`);
  const offline = document.querySelector(".offline");
  feed.addEventListener("open", () => { offline.hidden = true; });
  feed.addEventListener("error", () => { offline.hidden = false; });
  feed.addEventListener("message", (event) => {
    const notice = JSON.parse(event.data);
    missed?.push(notice);
    handlers[notice.kind]?.(notice);
  });
  addEventListener("pagehide", () => feed.close());
}

// Threads

// What came while a thread was fetched may be newer than its text, and found no list to go into.
function catchUp(list, notice) {
  const handler = handlers[notice.kind];
  if (handler === onMessage) showIn(list, notice);
  else if ([onStatus, onSession, onPrompts].includes(handler)) handler(notice);
}

async function openThread(channel, ts, push = true) {
  const since = [];
  missed = since;
  const html = await fetchText(`/fragments/thread/${channel}/${ts}`)
    .catch(() => null)
    .finally(() => { if (missed === since) missed = null; });
  if (html === null) return toast("This thread was not opened: The playground does not answer.");
  if (!html) return toast("This thread is gone.");
  aside.replaceChildren(parse(html));
  aside.hidden = false;
  document.body.classList.add("with-thread");
  if (push) history.pushState({}, "", `/${channel}/${ts}`);
  prepare(aside);
  since.forEach((notice) => catchUp(aside.querySelector(".messages"), notice));
  if (matchMedia("(min-width: 700px)").matches) aside.querySelector("textarea").focus();
}

function closeThread(push = true) {
  const root = aside.querySelector(".messages")?.dataset.thread;
  aside.replaceChildren();
  aside.hidden = true;
  document.body.classList.remove("with-thread");
  if (push) history.pushState({}, "", `/${document.body.dataset.channel}`);
  document.getElementById(`main-${root}`)?.focus({ preventScroll: true });
}

function stayAtEnd(list) {
  let low = true;
  list.addEventListener("scroll", () => { low = isLow(list); }, { passive: true });
  new ResizeObserver(() => { if (low) toEnd(list); }).observe(list);
  list.addEventListener("load", () => { if (low) toEnd(list); }, true);
}

function prepare(root) {
  root.querySelectorAll(".messages").forEach((list) => {
    tidy(list);
    toEnd(list);
    stayAtEnd(list);
  });
  root.querySelectorAll(".composer").forEach(attachComposer);
}

addEventListener("popstate", () => {
  const [channel, ts] = location.pathname.slice(1).split("/");
  if (channel !== document.body.dataset.channel) location.reload();
  else if (ts) openThread(channel, ts, false);
  else closeThread(false);
});

// Modals, confirmations, pictures

async function showView() {
  const modal = document.getElementById("modal");
  const html = await fetchText("/fragments/view");
  modal.replaceChildren(parse(html));
  if (html && !modal.open) modal.showModal();
  if (!html && modal.open) modal.close();
  modal.querySelector(".view-blocks :is(input, select, textarea)")?.focus();
}

async function closeView(view) {
  await send(`/control/views/${view}/close`, {}).catch(() => {});
  const open = document.querySelector("form.view");
  if (open?.dataset.view === view) document.getElementById("modal").close();
}

function option(radio) {
  return { text: { type: "plain_text", text: radio.dataset.text }, value: radio.value };
}

function stateValues(form) {
  const state = {};
  for (const field of form.querySelectorAll("[name][data-type]")) {
    const [block, action] = field.name.split("/");
    const type = field.dataset.type;
    if (type === "radio_buttons") {
      if (field.checked) state[block] = { ...state[block], [action]: { type, selected_option: option(field) } };
      continue;
    }
    const chosen = field.selectedOptions?.[0];
    const value = field.tagName === "SELECT"
      ? { type, selected_option: field.value ? { text: { type: "plain_text", text: chosen.text }, value: field.value } : null }
      : { type, value: field.value || null };
    state[block] = { ...state[block], [action]: value };
  }
  return state;
}

async function submitView(form) {
  if (form.classList.contains("busy")) return;
  form.classList.add("busy");
  try {
    const { response } = await send(`/control/views/${form.dataset.view}/submit`, { values: stateValues(form) });
    form.querySelectorAll(".input-error").forEach((each) => { each.textContent = ""; });
    for (const [block, message] of Object.entries(response?.errors ?? {})) {
      const error = form.querySelector(`[data-block="${CSS.escape(block)}"] .input-error`);
      if (error) error.textContent = message;
    }
  } catch (error) {
    toast(`The app did not take this: ${error.message}`);
  } finally {
    form.classList.remove("busy");
  }
}

function confirmed(element) {
  const { confirm, confirmTitle, confirmYes, confirmNo, confirmStyle } = element.dataset;
  if (!confirm) return Promise.resolve(true);
  const dialog = document.getElementById("confirm");
  dialog.querySelector("h2").textContent = confirmTitle;
  dialog.querySelector("p").textContent = confirm;
  const [no, yes] = dialog.querySelectorAll("button");
  no.textContent = confirmNo;
  yes.textContent = confirmYes;
  yes.className = `button ${confirmStyle}`;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

async function press(element, value) {
  if (!(await confirmed(element)) || element.classList.contains("busy")) return;
  const message = element.closest(".message");
  const view = element.closest("[data-view]");
  const where = message
    ? { channel: message.dataset.channel, ts: message.dataset.ts }
    : { view_id: view.dataset.view, values: view.tagName === "FORM" ? stateValues(view) : {} };
  element.classList.add("busy");
  try {
    const block = element.closest(".block").dataset.block;
    await send("/control/press", { ...where, user: viewer, action_id: element.dataset.action, block_id: block, value });
    if (element.classList.contains("quiet")) {
      element.parentElement.querySelectorAll(".quiet").forEach((each) => each.classList.toggle("chosen", each === element));
    }
  } catch {
    toast("The app did not answer this click in time.");
  } finally {
    element.classList.remove("busy");
  }
}

async function chooseShortcut(button) {
  if (button.classList.contains("busy")) return;
  const { channel, ts } = button.closest(".message").dataset;
  const callback = button.dataset.shortcut;
  button.classList.add("busy");
  try {
    await send("/control/shortcut", { channel, ts, user: viewer, callback_id: callback });
  } catch {
    toast("The app did not answer this shortcut in time.");
  } finally {
    button.classList.remove("busy");
  }
}

async function usePrompt(button) {
  if (button.classList.contains("busy")) return;
  const { channel, thread } = button.closest(".prompts").dataset;
  button.classList.add("busy");
  try {
    await send("/control/messages", { channel, user: viewer, text: button.dataset.message, thread_ts: thread });
  } catch (error) {
    toast(`This was not sent: ${error.message}`);
  } finally {
    button.classList.remove("busy");
  }
}

async function react(button) {
  const { channel, ts } = button.closest(".message").dataset;
  const remove = button.classList.contains("mine");
  await send("/control/reactions", { channel, ts, user: viewer, name: button.dataset.reaction, remove }).catch(() => {});
}

function toggleSidebar(open) {
  sidebar.classList.toggle("open", open);
  shade.hidden = !open;
  document.querySelector(".open-sidebar").setAttribute("aria-expanded", String(open));
}

document.addEventListener("click", (event) => {
  const plain = !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
  const at = (selector) => event.target.closest(selector);
  if (at(".open-sidebar")) return toggleSidebar(true);
  if (at(".shade")) return toggleSidebar(false);
  if (at(".look-inside")) return toggleInside(!isInsideOpen());
  if (at(".close-inside")) return toggleInside(false);
  if (at("button.act")) return press(at("button.act"), at("button.act").dataset.value ?? "");
  if (at(".prompt")) return usePrompt(at(".prompt"));
  if (at(".shortcut")) return chooseShortcut(at(".shortcut"));
  if (at(".reaction")) return react(at(".reaction"));
  if (at(".close-view")) return closeView(at(".view").dataset.view);
  if (at(".stop")) {
    const { channel, thread } = aside.querySelector(".messages").dataset;
    return send("/control/stop", { channel, thread_ts: thread, user: viewer }).catch(() => {});
  }
  if (!plain) return undefined;
  const thread = at(".replies, .reply-here, .time");
  if (thread) {
    event.preventDefault();
    const [channel, ts] = new URL(thread.href).pathname.slice(1).split("/");
    return openThread(channel, ts);
  }
  if (at(".thread .back, .thread .close")) {
    event.preventDefault();
    return closeThread();
  }
  const zoom = at("a.zoom");
  if (zoom) {
    event.preventDefault();
    const dialog = document.getElementById("lightbox");
    dialog.querySelector("img").src = zoom.href;
    dialog.querySelector("img").alt = zoom.querySelector("img").alt;
    dialog.showModal();
  } else if (at("#lightbox")) {
    document.getElementById("lightbox").close();
  }
  return undefined;
});

document.addEventListener("change", (event) => {
  const element = event.target;
  if (element.matches("select.act")) {
    press(element, element.value);
    if (element.matches(".overflow select")) element.selectedIndex = 0; // a menu keeps no choice: the same one can be made again
  }
  if (element.matches(".viewer select")) element.form.submit();
});

document.addEventListener("submit", (event) => {
  if (event.target.matches("form.view")) {
    event.preventDefault();
    submitView(event.target);
  }
});

document.getElementById("modal").addEventListener("cancel", (event) => {
  event.preventDefault();
  event.target.querySelector(".close-view")?.click();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (sidebar.classList.contains("open")) toggleSidebar(false);
  else if (isInsideOpen()) toggleInside(false);
  else if (!aside.hidden && !document.querySelector(".people:not([hidden])")) closeThread();
});

prepare(document);
showView();
listenLive();
