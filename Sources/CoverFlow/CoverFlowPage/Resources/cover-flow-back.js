// The back of the cover in front. There is one for the whole flow: only the cover in front is turned over. It
// is beside the list box, as options of one can't have links and buttons in them.

import { report } from './cover-flow-report.js'

export class Back {
  #stage
  #source
  #labelOf
  #slot = null
  #key
  #content = null
  #transform = ''

  /**
   * @param {HTMLElement} element
   * @param {HTMLElement} stage where the focus returns to
   * @param {import('./cover-flow.js').Source} source
   * @param {(index: number) => string} labelOf
   */
  constructor(element, stage, source, labelOf) {
    this.element = element
    this.#stage = stage
    this.#source = source
    this.#labelOf = labelOf
    element.tabIndex = -1
    element.setAttribute('role', 'group')
  }

  /** Shows the back of a slot's cover as a frame has it: index, x, z, angle. */
  show(slot, [, x, z, angle], eye) {
    if (this.#key !== slot.key) this.#fill(slot)
    // Once it faces you it is in the plane of the page, where its text is sharp at any size.
    const scale = eye / (eye - z)
    const transform = angle === 0 ? `translate(${x * scale}px) scale(${scale})` : slot.transform
    if (this.#transform !== transform) {
      this.#transform = transform
      this.element.style.transform = transform
    }
    if (this.#slot === slot) return
    this.#slot?.cover.classList.remove('cf-turned')
    this.#slot = slot
    slot.cover.classList.add('cf-turned')
    this.element.classList.add('cf-seen')
    // Keys that turned it over go on to what is on the back.
    if (document.activeElement === this.#stage && this.#stage.matches(':focus-visible')) {
      this.element.focus({ preventScroll: true })
    }
  }

  hide() {
    if (!this.#slot) return
    const hadFocus = this.element.contains(document.activeElement)
    this.#slot.cover.classList.remove('cf-turned')
    this.#slot = null
    this.#key = undefined
    this.element.classList.remove('cf-seen')
    if (hadFocus) this.#stage.focus({ preventScroll: true })
  }

  /** What a slot shows has changed. */
  update(slot) {
    if (this.#key === slot.key) this.#fill(slot)
  }

  #fill(slot) {
    this.#key = slot.key
    try {
      const content = this.#source.back?.(slot.index, this.#content) ?? null
      if (content !== this.#content) {
        this.#content?.remove()
        if (content) this.element.append(content)
        this.#content = content
      }
    } catch (error) {
      report(error)
    }
    this.element.setAttribute('aria-label', this.#labelOf(slot.index) || slot.face.textContent)
  }
}
