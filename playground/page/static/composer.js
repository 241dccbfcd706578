// The composer: growing text, files by button or drop, @-mention completion.

import { send, toast } from "./net.js";

const viewer = document.body.dataset.viewer;
const drop = document.querySelector(".drop");
const MENTION = /(^|\s)@([^\s@]*)$/u;

export function attachComposer(form) {
  const text = form.querySelector("textarea");
  const picker = form.querySelector("input[type=file]");
  const chips = form.querySelector(".chips");
  const button = form.querySelector(".send");
  const people = form.querySelector(".people");
  const draft = `draft ${viewer} ${form.dataset.channel} ${form.dataset.thread}`;
  let files = [];
  text.value = sessionStorage.getItem(draft) ?? "";
  people.append(document.getElementById("people").content.cloneNode(true));
  people.id = form.dataset.thread ? "people-thread" : "people-main";
  [...people.children].forEach((option, place) => { option.id = `${people.id}-${place}`; });
  text.setAttribute("aria-controls", people.id);

  function ready() {
    button.disabled = !text.value.trim() && files.length === 0;
    sessionStorage.setItem(draft, text.value);
    if (!CSS.supports("field-sizing", "content")) {
      text.style.height = "auto";
      text.style.height = `${text.scrollHeight}px`;
    }
  }

  function showChips() {
    chips.hidden = files.length === 0;
    chips.replaceChildren(...files.map((file) => {
      const chip = document.createElement("span");
      chip.className = "chip";
      const name = document.createElement("span");
      name.textContent = file.name;
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", `Remove ${file.name}`);
      remove.addEventListener("click", () => {
        files = files.filter((each) => each !== file);
        showChips();
      });
      chip.append(name, remove);
      return chip;
    }));
    ready();
  }

  function add(list) {
    files = [...files, ...list];
    showChips();
    text.focus();
  }

  async function post() {
    if (button.disabled || form.classList.contains("busy")) return;
    const written = text.value;
    const attached = files;
    const body = new FormData();
    body.append("channel", form.dataset.channel);
    body.append("user", viewer);
    body.append("text", text.value.trim());
    if (form.dataset.thread) body.append("thread_ts", form.dataset.thread);
    files.forEach((file) => body.append("files", file, file.name));
    form.classList.add("busy");
    text.value = "";
    files = [];
    picker.value = "";
    showChips();
    text.focus();
    try {
      await send("/control/messages", body);
    } catch (error) {
      toast(`This was not sent and is still in its box: ${error.message}`);
      text.value = [written, text.value].filter(Boolean).join("\n");
      files = [...attached, ...files];
      showChips();
    } finally {
      form.classList.remove("busy");
    }
  }

  // Mentions

  const options = () => [...people.querySelectorAll("li:not([hidden])")];
  const selected = () => people.querySelector("[aria-selected=true]");

  function select(option) {
    selected()?.removeAttribute("aria-selected");
    option?.setAttribute("aria-selected", "true");
    if (option) text.setAttribute("aria-activedescendant", option.id);
    else text.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  function offer() {
    const found = text.value.slice(0, text.selectionStart).match(MENTION);
    const wanted = found?.[2].toLowerCase();
    people.querySelectorAll("li").forEach((each) => {
      each.hidden = !found || !each.dataset.find.split(" ").some((word) => word.startsWith(wanted));
    });
    show(options().length > 0);
    select(options()[0]);
  }

  function show(shown) {
    people.hidden = !shown;
    if (!shown) text.removeAttribute("aria-activedescendant");
  }

  function take(option) {
    const end = text.selectionStart;
    const before = text.value.slice(0, end).replace(MENTION, `$1@${option.dataset.handle} `);
    text.value = before + text.value.slice(end);
    text.setSelectionRange(before.length, before.length);
    show(false);
    ready();
    text.focus();
  }

  text.addEventListener("input", () => { ready(); offer(); });
  text.addEventListener("blur", () => setTimeout(() => { show(false); }, 150));
  text.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (!people.hidden) {
      const all = options();
      const place = all.indexOf(selected());
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        select(all[(place + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]);
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        take(selected());
        return;
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        show(false);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      post();
    }
  });
  people.addEventListener("mousedown", (event) => {
    event.preventDefault();
    const option = event.target.closest("li");
    if (option) take(option);
  });
  form.querySelector(".at").addEventListener("click", () => {
    const end = text.selectionStart;
    const gap = end && !/\s$/u.test(text.value.slice(0, end)) ? " @" : "@";
    text.setRangeText(gap, end, end, "end");
    text.focus();
    offer();
  });
  text.addEventListener("paste", (event) => {
    // A spreadsheet puts a picture of the cells beside their text.
    if (event.clipboardData.files.length && !event.clipboardData.types.includes("text/plain")) {
      event.preventDefault();
      add(event.clipboardData.files);
    }
  });
  picker.addEventListener("change", () => add(picker.files));
  form.addEventListener("submit", (event) => { event.preventDefault(); post(); });
  form.addEventListener("filesdropped", (event) => add(event.detail));
  ready();
}

// Files dropped anywhere go to the composer of the pane under them, or the last one.

const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
let depth = 0;

addEventListener("dragenter", (event) => {
  if (carriesFiles(event)) { depth += 1; drop.hidden = false; }
});
addEventListener("dragleave", (event) => {
  if (carriesFiles(event) && --depth <= 0) { depth = 0; drop.hidden = true; }
});
addEventListener("dragover", (event) => { if (carriesFiles(event)) event.preventDefault(); });
addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  depth = 0;
  drop.hidden = true;
  const pane = event.target.closest?.(".main, .thread");
  const form = pane?.querySelector(".composer") ?? [...document.querySelectorAll(".composer")].at(-1);
  form?.dispatchEvent(new CustomEvent("filesdropped", { detail: event.dataTransfer.files }));
});
