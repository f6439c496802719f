"use strict";
document.documentElement.classList.add("scripted");
const dark = window.matchMedia("(prefers-color-scheme: dark)"), small = window.matchMedia("(max-width: 600px)");

// The colours of charts on a dark page; only where our own specification names a colour, never in a text of the log.
const NIGHT = {"#005a92": "#0072b2", "#c98300": "#e69f00", "#008f68": "#009e73", "#c25c9a": "#cc79a7", "#3f97d4": "#56b4e9", "#a23200": "#d55e00", "#6a6a6a": "#999999"};
function shade(key, value) {
  if (!dark.matches) return value;
  if (key === "range" && Array.isArray(value)) return value.map(one => NIGHT[one] ?? one);
  return (key === "color" || key === "colour") && typeof value === "string" ? NIGHT[value] ?? value : value;
}

function look(columns) {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  const ink = of("--ink"), soft = of("--soft"), line = of("--line"), narrow = small.matches;
  const words = {labelFontSize: narrow ? 11 : 12, titleFontSize: 12, titleFontWeight: "normal", titleColor: soft};
  return {
    background: null, font: "system-ui, sans-serif",
    axis: {...words, labelColor: soft, gridColor: line, domainColor: line, tickColor: line},
    axisX: narrow ? {labelSeparation: 6, titleAnchor: "end", titleLimit: window.innerWidth - 60} : {labelSeparation: 6}, axisY: {titleLimit: 255},
    legend: {...words, labelColor: ink, orient: "top", labelLimit: 280, columns},
    axisYBand: {labelLimit: narrow ? 165 : 220},
    style: {part: {stroke: of("--paper"), strokeWidth: 1}}, header: {labelColor: ink, titleColor: soft, labelFontSize: 12}, view: {stroke: null}, rule: {color: soft}, text: {color: ink}
  };
}

// Text only, placed through the style object: markup and injected style sheets are not allowed here.
function tooltip(handler, event, item, value) {
  const tip = document.getElementById("vg-tooltip-element");
  tip.replaceChildren();
  const known = value !== null && value !== undefined && value !== "";
  tip.classList.toggle("visible", known);
  if (!known) return;
  for (const [word, content] of Object.entries(typeof value === "object" ? value : {"": value})) {
    for (const [kind, text] of [["word", word], ["content", content]]) {
      const span = document.createElement("span");
      span.className = kind;
      span.textContent = String(text);
      tip.append(span);
    }
  }
  const box = tip.getBoundingClientRect(), gap = 12;
  const right = event.clientX + gap + box.width < window.innerWidth, under = event.clientY + gap + box.height < window.innerHeight;
  tip.style.left = Math.max(4, right ? event.clientX + gap : event.clientX - gap - box.width) + "px";
  tip.style.top = Math.max(4, under ? event.clientY + gap : event.clientY - gap - box.height) + "px";
}

// Expressions are interpreted (ast), never compiled: the page forbids eval.
const views = new Map();
async function draw(script) {
  const id = script.dataset.chart, box = document.getElementById(id), spec = JSON.parse(script.textContent, shade);
  const hidden = box.closest("[hidden]") !== null;
  views.get(id)?.finalize();
  views.delete(id);
  if (hidden) return box.replaceChildren();
  const options = {actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip};
  for (const columns of [0, 3, 2, 1]) {
    views.get(id)?.finalize();
    views.set(id, await vegaEmbed(box, {...spec, config: {...spec.config, ...look(columns)}}, options));
    const legend = box.querySelector(".role-legend");
    if (!legend || legend.getBoundingClientRect().right <= box.getBoundingClientRect().right + 1) break;
  }
}

// One chart after the other: what was asked for later is drawn later.
let queue = Promise.resolve();
function drawIn(element) {
  for (const script of element.querySelectorAll("script.spec")) {
    queue = queue.then(() => draw(script)).catch(error => console.error(error));
  }
  return queue;
}

async function drawAll() {
  await drawIn(document);
  document.body.dataset.drawn = dark.matches ? "dark" : "light";
}

function move(steps) {
  const slider = steps.querySelector("input"), parts = [...steps.querySelectorAll(".step")];
  const step = parts[Number(slider.value)], label = step.dataset.label;
  for (const part of parts) part.hidden = part !== step;
  steps.querySelector("output").textContent = label;
  slider.setAttribute("aria-valuetext", label);
}

// Wide tables scroll, and so must be reached by keyboard.
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex");
  }
}

// On a small screen the cells of a wide table stand under each other, and say of which column they are.
function nameCells() {
  for (const table of document.querySelectorAll("table.wide")) {
    const columns = [...table.tHead.rows[0].cells].map(cell => cell.textContent);
    for (const row of table.tBodies[0].rows) columns.forEach((column, i) => { row.cells[i].dataset.column = column; });
  }
}

document.addEventListener("DOMContentLoaded", () => {
  nameCells();
  for (const part of document.querySelectorAll("details")) part.open = false;
  for (const steps of document.querySelectorAll(".steps")) {
    steps.querySelector(".control").hidden = false;
    steps.addEventListener("input", () => { move(steps); reach(); drawIn(steps); });
    move(steps);
  }
  document.documentElement.classList.add("ready");
  document.addEventListener("toggle", reach, true);
  reach();
  drawAll();
});
for (const query of [dark, small]) query.addEventListener("change", drawAll);
window.addEventListener("resize", reach);
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) part.open = true;
});
window.addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
