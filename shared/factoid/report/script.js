"use strict";
// Tables sort by the button that a header becomes.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = header.getAttribute("aria-sort") === "descending";
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const text = row.cells[column].textContent.trim();
        const number = parseFloat(text.replace("−", "-"));
        return header.classList.contains("number") && !isNaN(number) ? number : text;
      };
      const rows = [...table.tBodies[0].rows];
      rows.sort((one, other) => {
        const [first, second] = [key(one), key(other)];
        const order = typeof first === "number" && typeof second === "number"
          ? first - second : String(first).localeCompare(String(second));
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
// Questions are filtered by their text, and by who answers them.
const [filters, contains, right, wrong, shown] =
  ["filters", "contains", "right", "wrong", "shown"].map((id) => document.getElementById(id));
const questions = [...document.querySelectorAll(".question")];
const update = () => {
  const text = contains.value.toLowerCase();
  let count = 0;
  for (const question of questions) {
    const marks = question.dataset.right;
    const fits = (!right.value || marks[right.value] === "1")
      && (!wrong.value || marks[wrong.value] === "0")
      && (!text || question.textContent.toLowerCase().includes(text));
    question.hidden = !fits;
    count += fits;
  }
  shown.textContent = `${count} of ${questions.length} questions`;
};
filters.hidden = false;
for (const control of [contains, right, wrong]) control.addEventListener("input", update);
update();
