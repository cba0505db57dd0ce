// Elements. Whatever a record says becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

/** An HTML element: `h("p", {class: "soft"}, "text", child)`. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** `format("{0} of {1}", 3, 4)` is "3 of 4". */
export function format(text, ...values) {
  return text.replace(/\{(\d)\}/g, (_, index) => String(values[index]));
}

/** An SVG element from trusted markup of the package's own. */
export function fragment(tag, markup) {
  const document_ = new DOMParser().parseFromString(`<${tag} xmlns="${SVG}">${markup}</${tag}>`, "image/svg+xml");
  return document.importNode(document_.documentElement, true);
}
