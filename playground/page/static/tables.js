// data_table blocks: sorted by a click on a column's head, a page of rows at a time.

function value(row, column) {
  const cell = row.cells[column];
  return cell?.dataset.number === undefined ? cell?.textContent.trim().toLowerCase() ?? "" : Number(cell.dataset.number);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function enhance(table) {
  const body = table.tBodies[0];
  const size = Number(table.dataset.page);
  const pager = document.createElement("div");
  let page = 0;
  pager.className = "pager";
  pager.innerHTML = '<span></span><button type="button" aria-label="Previous rows">‹</button><button type="button" aria-label="Next rows">›</button>';
  const [back, on] = pager.querySelectorAll("button");

  function show() {
    const rows = [...body.rows];
    const last = Math.ceil(rows.length / size) - 1;
    page = Math.min(Math.max(page, 0), last);
    rows.forEach((row, place) => { row.hidden = Math.floor(place / size) !== page; });
    pager.querySelector("span").textContent = `${page * size + 1}–${Math.min((page + 1) * size, rows.length)} of ${rows.length}`;
    back.disabled = page === 0;
    on.disabled = page === last;
    pager.hidden = last < 1;
  }

  back.addEventListener("click", () => { page -= 1; show(); });
  on.addEventListener("click", () => { page += 1; show(); });
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      [...head.parentElement.cells].forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
      body.append(...(order === "ascending" ? rows : rows.reverse()));
      page = 0;
      show();
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
  table.closest(".table").append(pager);
  show();
}

// A table that is wider than its place says so, until its last column is in sight.
function hint(place) {
  const hides = () => place.scrollWidth - place.clientWidth - place.scrollLeft > 8;
  const show = () => place.classList.toggle("hides", hides());
  place.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(place);
  show();
}

export function enhanceTables(root) {
  root.querySelectorAll(".scroll:not([data-live])").forEach((place) => {
    place.dataset.live = "1";
    hint(place);
  });
  root.querySelectorAll("table.sortable:not([data-live])").forEach((table) => {
    table.dataset.live = "1";
    enhance(table);
  });
}
