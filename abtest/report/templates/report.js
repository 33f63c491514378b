"use strict";
// Hovering, tapping and the arrow keys show what a point is; without this script its <title> does.
(() => {
  const NEAR = 28; // pixels on the screen from a point within which it is meant
  const tip = document.getElementById("tip");

  const hide = () => { tip.hidden = true; document.querySelectorAll(".mark.on").forEach((one) => one.classList.remove("on")); };

  const show = (mark) => {
    hide();
    mark.classList.add("on");
    tip.replaceChildren(...mark.words.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = Math.max(6, Math.min(wide - own.width - 6, at.left + at.width / 2 - own.width / 2));
    const above = at.top - own.height - 10;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above > 4 ? above : at.bottom + 10) + window.scrollY}px`;
  };

  const nearest = (marks, event) => {
    let best = null;
    let least = NEAR;
    for (const mark of marks) {
      const at = mark.getBoundingClientRect();
      const small = mark.classList.contains("small") ? 2 : 0; // a whole trial wins over one of its pairs
      const far = Math.hypot(at.left + at.width / 2 - event.clientX, at.top + at.height / 2 - event.clientY) + small;
      if (far < least) { least = far; best = mark; }
    }
    return best;
  };

  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const target = (key, place, count) => {
    if (key === "Home") return 0;
    if (key === "End") return count - 1;
    return key in STEPS ? (place + STEPS[key] + count) % count : null;
  };

  for (const svg of document.querySelectorAll(".chart svg")) {
    const marks = [...svg.querySelectorAll(".mark")];
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.words = title.textContent.split("\n");
      mark.setAttribute("aria-label", mark.words.join("; "));
      title.remove(); // else the browser's own tip would stand over ours
      mark.addEventListener("focus", () => show(mark));
      mark.addEventListener("blur", hide);
    }
    if (marks.length) marks[0].setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (event) => {
      const place = marks.indexOf(document.activeElement);
      const next = place < 0 ? null : target(event.key, place, marks.length);
      if (next === null) return;
      event.preventDefault();
      marks[place].setAttribute("tabindex", "-1");
      marks[next].setAttribute("tabindex", "0");
      marks[next].focus();
    });
    const point = (event) => { const mark = nearest(marks, event); if (mark) show(mark); else hide(); };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
