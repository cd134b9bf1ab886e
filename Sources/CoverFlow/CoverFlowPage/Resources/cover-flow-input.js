// What people do to a cover flow, as events of the engine: keys, wheels, trackpads, fingers, pens, mice.

/** A notch of a wheel in points of `WheelEvent`, and a line in them. */
const notch = 120
const line = 40
/** The engine's time for a second tap, and a little more, in milliseconds. */
const doubleTapTime = 350

export class Input {
  #host
  #stage
  #back
  #engine
  #act
  #pointer = null
  /** Whether the last pointer was a finger. */
  #isTouched = false
  #selecting = 0
  /** From the top of the stage to the middle of the covers, in points. */
  middle = 0

  /**
   * @param {{host: Element, stage: HTMLElement, back: HTMLElement}} elements
   * @param {import('./cover-flow-engine.js').Engine} engine
   * @param {(body: () => void) => void} act sends events to the engine, and does what follows of them
   * @param {AbortSignal} signal ends it
   */
  constructor({ host, stage, back }, engine, act, signal) {
    this.#host = host
    this.#stage = stage
    this.#back = back
    this.#engine = engine
    this.#act = act
    const on = (target, type, handler, options) =>
      target.addEventListener(type, handler, { signal, ...options })
    on(stage, 'keydown', (event) => this.#key(event))
    on(back, 'keydown', (event) => this.#backKey(event))
    on(host, 'wheel', (event) => this.#wheel(event), { passive: false })
    on(stage, 'pointerdown', (event) => this.#pointerDown(event))
    on(stage, 'pointermove', (event) => this.#pointerMove(event))
    on(stage, 'pointerup', (event) => this.#pointerUp(event))
    on(stage, 'pointercancel', (event) => this.#pointerEnd(event))
    on(stage, 'lostpointercapture', (event) => this.#pointerEnd(event))
    on(stage, 'dragstart', (event) => event.preventDefault())
    signal.addEventListener('abort', () => this.endSelecting())
  }

  // Keys.

  #key(event) {
    if (isTaken(event)) return
    if (this.#press(event.key)) event.preventDefault()
  }

  /** What a key does, at each repetition; false if it isn't one of ours. */
  #press(key) {
    const engine = this.#engine
    const presses = {
      ArrowRight: () => engine.step(1), ArrowLeft: () => engine.step(-1),
      PageDown: () => engine.page(1), PageUp: () => engine.page(-1),
      Home: () => engine.go(0), End: () => engine.go(Infinity),
      Enter: () => engine.flip(), ' ': () => engine.select(), Escape: () => engine.flipBack(),
    }
    if (!Object.hasOwn(presses, key)) return false
    this.#isTouched = false
    this.#act(presses[key])
    return true
  }

  /** Keys while the focus is on the back: its own controls come first, and those that scroll it. */
  #backKey(event) {
    if (isTaken(event)) return
    if (event.key !== 'Escape' && event.target !== this.#back) return
    const isScroll = ['PageDown', 'PageUp', 'Home', 'End', ' '].includes(event.key)
    if (!isScroll && this.#press(event.key)) event.preventDefault()
  }

  /**
   * Tells that a cover was selected. What that opens may cover the flow, so with a finger, a second tap, which
   * turns the cover, has its time before.
   */
  select(tell) {
    this.endSelecting()
    if (this.#isTouched) this.#selecting = setTimeout(tell, doubleTapTime)
    else tell()
  }

  endSelecting() { clearTimeout(this.#selecting) }

  // Wheels and trackpads.

  #wheel(event) {
    if (event.ctrlKey || event.defaultPrevented || this.#back.contains(event.target)) return
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY)
    // The page may keep what scrolls it for itself.
    if (!isSideways && this.#host.dataset.wheel === 'sideways') return
    const delta = isSideways ? event.deltaX : event.deltaY
    const unit = [1, line, notch * 3][event.deltaMode] ?? 1
    const engine = this.#engine
    // At an end, up and down scroll the page.
    const isAtEnd = delta < 0 ? engine.position <= 0 : engine.position >= engine.count - 1
    if (!isSideways && isAtEnd && engine.mode === 'rest') return
    event.preventDefault()
    this.#act(() => engine.wheel((delta * unit) / notch))
  }

  // Fingers, pens and mice.

  /** A place in points from the middle of the covers. */
  #place(event) {
    const { left, top } = this.#pointer
    return [event.clientX - left, event.clientY - top]
  }

  #pointerDown(event) {
    if (!event.isPrimary || event.button !== 0 || this.#pointer) return
    // What can be clicked on a cover is for the cover in front, when it is at rest.
    const control = event.target.closest?.('a, button, input, select, textarea')
    if (control?.closest('.cf-front') && this.#engine.mode === 'rest') return
    this.#isTouched = event.pointerType === 'touch'
    const box = this.#stage.getBoundingClientRect()
    this.#pointer = {
      id: event.pointerId, left: box.left + box.width / 2, top: box.top + this.middle,
    }
    const [x, y] = this.#place(event)
    this.#act(() => this.#engine.pointerDown(x, y, 0, event.timeStamp))
    this.#stage.setPointerCapture(event.pointerId)
    this.#stage.focus({ preventScroll: true, focusVisible: false })
  }

  #pointerMove(event) {
    if (event.pointerId !== this.#pointer?.id) return
    if (event.pointerType === 'mouse' && event.buttons === 0) {
      this.#pointerUp(event)
      return
    }
    // All places since the last event, with their own times: the velocity is that of them.
    const places = event.getCoalescedEvents?.() ?? []
    this.#act(() => {
      for (const each of places.length > 0 ? places : [event]) {
        this.#engine.pointerMove(this.#place(each)[0], 0, 0, each.timeStamp)
      }
    })
  }

  #pointerUp(event) {
    if (event.pointerId !== this.#pointer?.id) return
    const [x, y] = this.#place(event)
    this.#pointer = null
    this.#act(() => this.#engine.pointerUp(x, y, 0, event.timeStamp))
  }

  #pointerEnd(event) {
    if (event.pointerId !== this.#pointer?.id) return
    this.#pointer = null
    this.#act(() => this.#engine.pointerCancel())
  }
}

/** Whether a key is for somebody else. */
function isTaken(event) {
  return event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey
}
