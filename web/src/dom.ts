// Elements made in code. What comes from a bundle becomes text or the value of an attribute, never markup: there is no
// innerHTML in this program, and a test holds that.

type Child = Node | string | number | null | undefined | false;
type Listener = (event: any) => void;

export interface Props {
  class?: string;
  /** Set as properties of style, since the policy of the page forbids style attributes. */
  style?: Record<string, string>;
  on?: Record<string, Listener>;
  [attribute: string]: unknown;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Props | null,
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props) dress(element, props);
  element.append(...nodes(children));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, props?: Props | null, ...children: (Child | Child[])[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  if (props) dress(element, props);
  element.append(...nodes(children));
  return element;
}

/** A sentence of our own, never one of a record: what stands in backticks is code. */
export function prose(sentence: string): (Node | string)[] {
  return sentence.split("`").map((part, place) => (place % 2 ? h("code", null, part) : part));
}

/** Replaces everything in `host`. */
export function fill(host: Element, ...children: (Child | Child[])[]): void {
  host.replaceChildren(...nodes(children));
}

function nodes(children: (Child | Child[])[]): (Node | string)[] {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : (child as Node | string)));
}

function dress(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "style") {
      for (const [property, word] of Object.entries(value as Record<string, string>))
        (element as HTMLElement).style.setProperty(property, word);
    } else if (name === "on") {
      for (const [event, listener] of Object.entries(value as Record<string, Listener>))
        element.addEventListener(event, listener);
    } else if (/^on/i.test(name)) {
      throw new Error(`a listener belongs into "on": ${name}`);
    } else if (/^(href|src)$/i.test(name) && !/^([#?]|\.\/|\/(?!\/)|blob:)/.test(String(value))) {
      throw new Error(`an address that leaves the page: ${name}`);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}
