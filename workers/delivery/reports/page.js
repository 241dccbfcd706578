(function () {
  "use strict";
  var comma = /^(de|es|fr)/.test(document.documentElement.lang);
  function value(cell) {
    var bare = cell ? cell.cloneNode(true) : document.createElement("td");
    Array.prototype.forEach.call(bare.querySelectorAll(".tip"), function (tip) { tip.remove(); });
    var text = bare.textContent.trim();
    var written = comma ? text.replace(/\.(?=\d{3}(\D|$))/g, "").replace(",", ".") : text.replace(/,/g, "");
    var plain = written.replace(/[\s\u00a0\u202f\u26a0\ufe0f'%$€£¥]/g, "").replace(/^[(](.*)[)]$/, "-$1").replace("−", "-");
    return plain !== "" && !isNaN(plain) ? Number(plain) : text.toLowerCase();
  }
  function sort(table, place, head) {
    var down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = value(a.cells[place]), y = value(b.cells[place]);
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return (x < y ? -1 : x > y ? 1 : 0) * down;
    });
    rows.forEach(function (row) { body.appendChild(row); });
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
