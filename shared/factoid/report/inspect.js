"use strict";
// What is pointed at, or has the focus, lights up with its source, and a source with its units.
for (const section of document.querySelectorAll(".document")) {
  const light = (units, on) => {
    for (const element of section.querySelectorAll("[data-unit]"))
      if (units.has(element.dataset.unit)) element.classList.toggle("on", on);
    for (const element of section.querySelectorAll("[data-units]"))
      if (element.dataset.units.split(" ").some((unit) => units.has(unit))) element.classList.toggle("on", on);
  };
  const unitsAt = (target) => {
    const element = target.closest("[data-unit], [data-units]");
    if (!element) return new Set();
    return new Set((element.dataset.unit || element.dataset.units).split(" ").filter(Boolean));
  };
  let lit = new Set();
  const show = (event) => {
    light(lit, false);
    lit = unitsAt(event.target);
    light(lit, true);
  };
  section.addEventListener("pointerover", show);
  section.addEventListener("focusin", show);
  section.addEventListener("pointerleave", () => { light(lit, false); lit = new Set(); });
}
