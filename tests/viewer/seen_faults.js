(ground) => {
  const faults = [];
  const parse = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = parse(color).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const solid = (color) => color.startsWith("rgb") && parse(color)[3] !== 0;
  const svg = document.querySelector("svg");
  const whole = svg.getBoundingClientRect();
  const beneath = (element) => {
    const box = element.getBoundingClientRect();
    for (const one of document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)) {
      if (one === element || one.matches("text, use") || !(one instanceof SVGGeometryElement)) continue;
      const style = getComputedStyle(one);
      if (solid(style.fill) && Number(style.fillOpacity) === 1 && one.getAttribute("fill") !== "none") return style.fill;
    }
    return ground;
  };
  const shown = [...svg.querySelectorAll("text, rect, circle, path")].filter((one) => !one.closest("symbol"));
  for (const one of shown) {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (!one.matches("text")) {
      if (!solid(style.stroke)) continue;
      const filled = one.getAttribute("fill") && solid(style.fill) && Number(style.fillOpacity) === 1;
      const inside = filled ? style.fill : beneath(one);
      const seen = Math.max(contrast(style.stroke, inside), contrast(inside, ground), contrast(style.stroke, ground));
      if (seen < 3) faults.push(`border ${one.outerHTML.slice(0, 120)} ${seen.toFixed(2)}`);
      continue;
    }
    const seen = contrast(style.fill, beneath(one));
    if (seen < 4.5) faults.push(`text ${one.textContent} ${style.fill} on ${beneath(one)} ${seen.toFixed(2)}`);
    const out = Math.max(whole.left - box.left, box.right - whole.right, whole.top - box.top, box.bottom - whole.bottom);
    if (out > 1.5) faults.push(`cut off by ${out.toFixed(1)}: ${one.textContent}`);
  }
  for (const symbol of svg.querySelectorAll("symbol")) {
    const [shape, label] = [symbol.querySelector("rect, circle"), symbol.querySelector("text")];
    if (!shape || !label) continue;
    const seen = contrast(getComputedStyle(label).fill, getComputedStyle(shape).fill);
    if (seen < 4.5) faults.push(`label ${label.textContent} ${seen.toFixed(2)}`);
  }
  return faults;
}
