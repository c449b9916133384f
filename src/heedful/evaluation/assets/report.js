"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Light and dark: the system's choice, until the button makes another.
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// The section in view is underlined in the bar.
const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    links.forEach((link) => link.classList.remove("here"));
    links.get(entry.target.id).classList.add("here");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
all("section").forEach((section) => watcher.observe(section));

// Copy buttons.
all(".copy").forEach((button) => button.addEventListener("click", async (event) => {
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "copied";
  } catch {
    button.textContent = "no clipboard";
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}));

// Charts: the pointer shows the values logged nearest to it.
for (const chart of all(".chart")) {
  const figure = chart.closest("figure"), tip = figure.querySelector(".tip"), cursor = chart.querySelector(".cursor");
  const lines = all("polyline", chart).map((line) => ({
    kind: line.dataset.kind,
    places: line.getAttribute("points").split(" ").map((point) => Number(point.split(",")[0])),
    at: line.dataset.at.split(" "),
    values: line.dataset.values.split(" "),
  }));
  const nearest = (places, x) => places.reduce((best, place, i) => Math.abs(place - x) < Math.abs(places[best] - x) ? i : best, 0);
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect(), outer = figure.getBoundingClientRect();
    const scale = chart.viewBox.baseVal.width / box.width;
    const found = lines.map((line) => [line, nearest(line.places, (event.clientX - box.left) * scale)]);
    const [first, index] = found.reduce((a, b) =>
      Math.abs(b[0].places[b[1]] / scale - event.clientX + box.left) < Math.abs(a[0].places[a[1]] / scale - event.clientX + box.left) ? b : a);
    const x = first.places[index];
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    tip.innerText = [`${first.at[index]} ${chart.dataset.over}`, ...found.map(([line, i]) => `${line.kind} ${line.values[i]}`)].join("\n");
    tip.hidden = false;
    const middle = box.left - outer.left + x / scale, half = tip.offsetWidth / 2;
    tip.style.left = `${Math.min(Math.max(middle, half + 4), outer.width - half - 4)}px`;
    tip.style.top = `${box.top - outer.top + 6}px`;
  });
  chart.addEventListener("pointerleave", () => {
    tip.hidden = true;
    cursor.setAttribute("visibility", "hidden");
  });
}

// Errors: one reason at a time, and a search.
const rows = all("#mistakes tbody tr"), bars = all(".reason"), find = document.getElementById("find");
function filter() {
  const pressed = bars.find((bar) => bar.getAttribute("aria-pressed") === "true");
  const wanted = find.value.trim().toLowerCase();
  let visible = 0;
  for (const row of rows) {
    const fits = (!pressed || row.dataset.reason === pressed.dataset.reason) && (!wanted || row.dataset.text.includes(wanted));
    row.hidden = !fits;
    visible += fits;
  }
  document.getElementById("said").textContent = pressed ? `${pressed.dataset.reason}: ${pressed.title}` : "";
  document.getElementById("found").textContent = pressed || wanted ? `${visible} shown` : "";
}
bars.forEach((bar) => bar.addEventListener("click", () => {
  const pressed = bar.getAttribute("aria-pressed") === "true";
  bars.forEach((other) => other.setAttribute("aria-pressed", "false"));
  bar.setAttribute("aria-pressed", String(!pressed));
  filter();
}));
if (find) find.addEventListener("input", filter);
