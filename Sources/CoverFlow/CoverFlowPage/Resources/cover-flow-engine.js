// The engine of cover flow, which is Swift: see Sources/CoverFlow. This file names its functions and
// numbers, and does nothing else.

/** @type {Promise<WebAssembly.Module> | undefined} */
let compiled

/** Compiles the engine once for a page; fails where there is no WebAssembly, or it is not allowed. */
function compile() {
  if (compiled) return compiled
  compiled = (async () => {
    const response = await fetch(new URL('cover-flow.wasm', import.meta.url))
    if (!response.ok) throw new Error(`cover-flow.wasm: ${response.status}`)
    return WebAssembly.compile(await response.arrayBuffer())
  })()
  // What could not be loaded may be there the next time.
  compiled.catch(() => { compiled = undefined })
  return compiled
}

const events = [
  'resize', 'pointerDown', 'pointerMove', 'pointerUp', 'pointerCancel', 'wheel', 'step', 'page', 'go',
  'jump', 'fling', 'select', 'flip', 'flipBack', 'reduceMotion',
]
const actions = ['assign', 'vacate', 'load', 'front', 'settle', 'announce', 'select', 'flip']
const questions = [
  'count', 'position', 'velocity', 'mode', 'target', 'needsFrame', 'nextWake', 'coverWidth',
  'coverHeight', 'eyeDistance', 'turnedIndex', 'frameCount', 'assignmentCount', 'loadCount',
  'ignoredCount', 'pointsPerCover', 'imageCount', 'imageCapacity', 'isFlipped',
]
const modes = ['rest', 'drag', 'settle', 'scroll']
const frameFields = 6
const actionFields = 4

/**
 * One cover flow of the engine. Times are those of `performance.now()` and of events; points are measured
 * from the middle of the covers, to the right and down.
 *
 * For each event of the machine there is a method, for each number a property: `engine.step(1)`,
 * `engine.position`.
 */
export class Engine {
  #exports
  #slotCount

  /**
   * @param {{count: number}} source says how many items there are, once the engine is loaded
   * @param {number} slotCount how many elements; `engine.slotCount` says how many it became
   * @param {number} imageCapacity how many images are kept
   */
  static async create(source, slotCount, imageCapacity) {
    const instance = await WebAssembly.instantiate(await compile(), {})
    return new Engine(instance.exports, source.count, slotCount, imageCapacity)
  }

  constructor(exports, count, slotCount, imageCapacity) {
    this.#exports = exports
    this.#slotCount = exports.cover_flow_start(count, slotCount, imageCapacity)
  }

  get slotCount() { return this.#slotCount }
  /** What moves the covers: rest, drag, settle or scroll. */
  get mode() { return modes[this.#exports.cover_flow_query(questions.indexOf('mode'))] }

  insert(index) { return this.#change(0, index, 0) }
  remove(index) { return this.#change(1, index, 0) }
  move(from, to) { return this.#change(2, from, to) }

  #change(kind, a, b) {
    return this.#exports.cover_flow_change(kind, a, b, performance.now()) !== 0
  }

  /**
   * The list is another one.
   *
   * @param {number} count how many items it has
   * @param {number[]} indices where the items are now that slots show; -1 for those that are gone
   */
  reset(count, indices) {
    for (const index of indices) this.#exports.cover_flow_keep(index)
    return this.#exports.cover_flow_reset(count, performance.now()) !== 0
  }

  /** Brings everything up to a time; `slot` then says how each cover is drawn. */
  frame(now) { this.#exports.cover_flow_frame(now) }

  /** How all slots are drawn: for each its index, x, z, angle, rank, and 1 if it is seen plus 2 for its back. */
  get frames() {
    // The memory may have grown: a view of it is made anew each time.
    const start = this.#exports.cover_flow_frame_buffer()
    return new Float64Array(this.#exports.memory.buffer, start, this.#slotCount * frameFields)
  }

  /** What is to be done, oldest first: calls `perform(name, slot, index, flag)` for each. */
  takeActions(perform) {
    for (;;) {
      const count = this.#exports.cover_flow_take_actions()
      if (count === 0) return
      const start = this.#exports.cover_flow_action_buffer()
      const taken = new Int32Array(this.#exports.memory.buffer, start, count * actionFields).slice()
      for (let base = 0; base < taken.length; base += actionFields) {
        perform(actions[taken[base]], taken[base + 1], taken[base + 2], taken[base + 3] !== 0)
      }
    }
  }

  /** The item whose cover is seen at a point; -1 for none. */
  hitTest(x, y) { return this.#exports.cover_flow_hit_test(x, y) }

  // Images: a key is a positive whole number.

  /** Says which image a slot shows or waits for; 0 for none. */
  useImage(slot, key) { this.#exports.cover_flow_image_use(slot, key) }

  /**
   * Asks for an image.
   *
   * @returns {{place?: number, ticket?: {place: number, attempt: number}}} its place if it is there; a ticket
   * if it is to be loaded: what was in that place is to be dropped; neither if it is on its way or can't be
   * loaded
   */
  requestImage(key) {
    const answer = this.#exports.cover_flow_image_request(key)
    if (answer >= 0) return { place: answer }
    if (answer !== -4) return {}
    const attempt = this.#exports.cover_flow_image_attempt()
    return { ticket: { place: this.#exports.cover_flow_image_place(), attempt } }
  }

  /** Tells what became of a ticket; returns the image's key if it may be shown, and 0 if it may not. */
  finishImage(ticket, isLoaded) {
    return this.#exports.cover_flow_image_finish(ticket.place, ticket.attempt, isLoaded ? 1 : 0) >>> 0
  }

  /** Forgets an image; returns its place, or -1. */
  removeImage(key) { return this.#exports.cover_flow_image_remove(key) }

  /** Sends an event of the machine: its number, up to three numbers and the time when it happened. */
  send(kind, a = 0, b = 0, c = 0, time = 0) {
    this.#exports.cover_flow_event(kind, a, b, c, time, performance.now())
  }

  query(kind) { return this.#exports.cover_flow_query(kind) }
}

events.forEach((name, kind) => {
  Engine.prototype[name] = function (a, b, c, time) { this.send(kind, a, b, c, time) }
})
questions.forEach((name, kind) => {
  if (name === 'mode') return
  Object.defineProperty(Engine.prototype, name, { get() { return this.query(kind) } })
})
