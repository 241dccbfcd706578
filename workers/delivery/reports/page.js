(function () {
  "use strict";
  var comma = /^(de|es|fr)/.test(document.documentElement.lang);
  var scales = { k: 1e3, K: 1e3, M: 1e6, "Mio.": 1e6, B: 1e9, bn: 1e9, "Mrd.": 1e9, 万: 1e4, 億: 1e8, 亿: 1e8 };
  function shown(cell) {
    var bare = cell ? cell.cloneNode(true) : document.createElement("td");
    Array.prototype.forEach.call(bare.querySelectorAll(".tip"), function (tip) { tip.remove(); });
    return bare.textContent.replace(/[\u26a0\ufe0f]/g, "").trim();
  }
  // The amount that a text says, with its unit: "1.2M USD" is 1,200,000 of "USD". Null if it says none, or more.
  function amount(text) {
    var open = text.replace(/^[(](.*)[)]$/, "-$1").replace("−", "-");
    var part = /^([+-]?)([^\d.,+-]*)([+-]?)([\d.,][\d.,'\s]*(?:e[+-]?\d+)?)(?:(k|K|M|Mio\.|B|bn|Mrd\.|[万億亿])(?![A-Za-z]))?(\D*)$/.exec(open);
    if (!part || (part[3] && !/[\s$€£¥]$/.test(part[2]))) return null;
    var digits = part[4].replace(/['\s]/g, "");
    var plain = comma ? digits.replace(/\.(?=\d{3}(\D|$))/g, "").replace(",", ".") : digits.replace(/,/g, "");
    if (digits === "" || isNaN(plain)) return null;
    var unit = (part[2] + part[6]).trim();
    return { value: Number((part[1] || part[3] || "") + plain) * (scales[part[5]] || 1), unit: unit };
  }
  // What the rows are sorted by: amounts where all have one unit, else amounts without a unit, and texts.
  function keys(rows, place) {
    var texts = rows.map(function (row) { return shown(row.cells[place]); });
    var read = texts.map(amount);
    var units = {};
    read.forEach(function (each) { if (each) units[each.unit] = true; });
    var one = Object.keys(units).length < 2;
    return texts.map(function (text, at) {
      var said = read[at];
      return said && (one || /^[%$€£¥]?$/.test(said.unit)) ? said.value : text.toLowerCase();
    });
  }
  function sort(table, place, head) {
    var down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows), by = keys(rows, place);
    var order = rows.map(function (_row, at) { return at; });
    order.sort(function (a, b) {
      var x = by[a], y = by[b];
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : x > y ? 1 : 0) * down;
    });
    order.forEach(function (at) { body.appendChild(rows[at]); });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (each) { each.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down === 1 ? "ascending" : "descending");
  }
  Array.prototype.forEach.call(document.querySelectorAll("table.sorts, .answer table"), function (table) {
    if (!table.tHead || !table.tBodies.length || table.tBodies[0].rows.length < 2) return;
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, place) {
      var button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener("click", function () { sort(table, place, head); });
    });
  });
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target) target.scrollIntoView({ block: "center" });
  }
  window.addEventListener("hashchange", reveal);
  reveal();
  window.addEventListener("beforeprint", function () {
    Array.prototype.forEach.call(document.querySelectorAll("#sources details"), function (each) { each.open = true; });
  });
})();
