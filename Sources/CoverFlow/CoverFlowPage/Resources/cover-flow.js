// Cover flow: covers that stand in a row, with the one in front facing you. Fingers, wheels and keys move
// them; Enter or a double-click turns the front one over.
//
//   import { CoverFlow } from './cover-flow.js'
//   const flow = await CoverFlow.create(element, source, options)
//   flow.apply([['insert', 'key', 3], ['remove', 'other', 7]])
//
// The engine is Swift in WebAssembly (cover-flow.wasm). A page's content security policy has to allow
// `script-src 'self' 'wasm-unsafe-eval'`, which lets WebAssembly be compiled and nothing else; `unsafe-eval`
// is not needed. Without WebAssembly the same source is shown as a list.
//
// With `?probe` in the page's address, the element with the id `cf` has `window.__cf` for scripts that
// measure: see cover-flow-probe.js.

import { Engine } from './cover-flow-engine.js'
import { Back } from './cover-flow-back.js'
import { Images } from './cover-flow-images.js'
import { Input } from './cover-flow-input.js'
import { report } from './cover-flow-report.js'

/**
 * What is shown. All but `count`, `keyAt` and `cover` may be missing.
 *
 * @typedef {object} Source
 * @property {number} count how many items there are now
 * @property {(index: number) => string | number} keyAt what identifies an item, whatever its index
 * @property {(index: number, reused: Element | null) => Element} cover the front of an item's cover. `reused`
 * is an element that it returned for another item: to fill anew, so that elements aren't made in motion
 * @property {(index: number, reused: Element | null) => Element} [back] the details on the back. Without it
 * no cover is turned over
 * @property {(index: number) => string} [title] the name of an item, shown below the cover in front
 * @property {(index: number) => string} [subtitle] a second line
 * @property {(index: number) => string} [label] what a screen reader says; otherwise title and subtitle, or
 * the cover's text
 * @property {(index: number) => string | null} [image] the address of a picture. Until it is loaded, and if
 * it can't be, the cover is seen
 * @property {(index: number) => string} [tint] a colour for the reflection of a cover without a picture
 * @property {(key: string | number) => number} [indexOf] the index of a key, or -1; makes `reset` of long
 * lists fast
 */

/**
 * What is told. All may be missing.
 *
 * @typedef {object} Delegate
 * @property {(key: string | number, index: number) => void} [front] an item came to rest at the front
 * @property {(key: string | number, index: number) => void} [select] the cover at the front was clicked, or
 * selected with the space bar
 * @property {(key: string | number, index: number, isFlipped: boolean) => void} [flip] it was turned over, or
 * back
 */

/**
 * @typedef {object} Options
 * @property {Delegate} [delegate]
 * @property {string} [label] what a screen reader calls the flow
 * @property {number} [slots] how many elements for covers: 17 to 21 fill a screen
 * @property {number} [images] how many pictures are kept at most
 * @property {number} [aspect] a cover's height divided by its width
 * @property {(label: string, number: number, count: number) => string} [announce] what is announced of the
 * cover that came to the front
 * @property {boolean} [list] shows the list that is shown without WebAssembly
 */

/** A change of the list, as `apply` takes it: indices are those at the time of the change.
 * @typedef {['insert', string | number, number] | ['remove', string | number, number]
 *   | ['move', string | number, number, number] | ['update', string | number] | ['reset']} Change */

let instances = 0

export class CoverFlow {
  #engine
  #source
  #options
  #host
  #stage
  #slots = []
  #images
  #back
  #status
  #caption
  #scheduled = 0
  #timer = 0
  #frontKey
  #frontSlot
  #settledKey
  #input
  #cleanUp = new AbortController()
  #observer
  /** Set by the probe: called with each frame. */
  probe = null

  /**
   * Shows a source in an element.
   *
   * @param {HTMLElement} element becomes the flow; its height is the page's
   * @param {Source} source
   * @param {Options} options
   * @returns {Promise<CoverFlow>} a flow, or a list with the same methods where there is no WebAssembly
   */
  static async create(element, source, options = {}) {
    let flow
    try {
      if (options.list) throw new Error('a list is wanted')
      const engine = await Engine.create(source, options.slots ?? 21, options.images ?? 64)
      flow = new CoverFlow(element, source, options, engine)
    } catch (error) {
      if (!options.list) console.warn('Cover flow is shown as a list:', error)
      const { CoverList } = await import('./cover-flow-list.js')
      return new CoverList(element, source, options)
    }
    if (element.id === 'cf' && new URLSearchParams(location.search).has('probe')) {
      const { attachProbe } = await import('./cover-flow-probe.js')
      attachProbe(flow, flow.#engine)
    }
    return flow
  }

  constructor(element, source, options, engine) {
    this.#host = element
    this.#source = source
    this.#options = options
    this.#engine = engine
    try {
      this.#build()
      this.#images = new Images(
        engine,
        (id, picture) => this.#showImage(id, picture),
        (id, forget) => this.#reloadImage(id, forget),
      )
      this.#listen()
      this.#resize()
      this.#draw(performance.now())
    } catch (error) {
      // A list takes the element: nothing of the flow may act on it.
      this.destroy()
      throw error
    }
  }

  // What pages call.

  /** The index of the item at the front, or the one that is on its way there; -1 if there is none. */
  get index() { return this.#engine.count > 0 ? this.#engine.target : -1 }
  /** The key of the item that is nearest to the middle; undefined if there is none. */
  get key() { return this.#frontKey }
  get element() { return this.#host }
  /** Whether the back of the cover at the front is seen, or about to be. */
  get isFlipped() { return this.#engine.isFlipped === 1 }

  /** Brings an item to the front. */
  go(index) { this.#act(() => this.#engine.go(index)) }
  /** The same without a motion. */
  jump(index) { this.#act(() => this.#engine.jump(index)) }
  /** Moves by so many covers. */
  step(covers) { this.#act(() => this.#engine.step(covers)) }
  /** Lets the covers glide, at so many covers a second. */
  fling(velocity) { this.#act(() => this.#engine.fling(velocity)) }
  /** Turns the cover at the front over, or back. */
  flip() { this.#act(() => this.#engine.flip()) }

  /**
   * Takes changes of the list, which the source has already. The cover at the front stays there.
   *
   * @param {Change[]} changes in the order in which they happened
   */
  apply(changes) {
    let isKnown = true
    for (const [kind, key, a, b] of changes) {
      if (!isKnown) break
      switch (kind) {
        case 'insert': isKnown = this.#engine.insert(a); break
        case 'remove': isKnown = this.#checks(key, a) && this.#engine.remove(a); break
        case 'move': isKnown = this.#checks(key, a) && this.#engine.move(a, b); break
        case 'update': break
        default: isKnown = false
      }
      if (kind === 'remove') this.#images.forget(key)
      if (isKnown && kind !== 'update') this.#renumber(kind, a, b)
    }
    if (!isKnown || this.#engine.count !== this.#source.count) this.#reset()
    for (const [kind, key] of changes) if (kind === 'update') this.#update(key)
    for (const slot of this.#slots) this.#number(slot)
    this.#schedule()
  }

  /** The key that an element for covers shows, for the probe. */
  keyIn(place) { return this.#slots[place].key }

  /** Takes the flow out of its element. */
  destroy() {
    this.#cleanUp.abort()
    this.#observer?.disconnect()
    cancelAnimationFrame(this.#scheduled)
    clearTimeout(this.#timer)
    this.#images?.destroy()
    this.#host.classList.remove('cf')
    this.#host.replaceChildren()
  }

  // The list.

  /** Whether a slot that shows this index shows this key. Otherwise the change is not of our list. */
  #checks(key, index) {
    const slot = this.#slots.find((each) => each.index === index)
    return slot === undefined || slot.key === key
  }

  /** Keeps the slots' indices as the engine does. */
  #renumber(kind, a, b) {
    for (const slot of this.#slots) {
      const index = slot.index
      if (index < 0) continue
      if (kind === 'insert' && index >= a) slot.index += 1
      if (kind === 'remove') slot.index = index === a ? -1 : index > a ? index - 1 : index
      if (kind === 'move') {
        if (index === a) slot.index = b
        else if (a < index && index <= b) slot.index -= 1
        else if (b <= index && index < a) slot.index += 1
      }
    }
  }

  #reset() {
    const wanted = new Map()
    for (const slot of this.#slots) if (slot.index >= 0) wanted.set(slot.key, -1)
    const count = this.#source.count
    if (this.#source.indexOf) {
      for (const key of wanted.keys()) wanted.set(key, this.#ask('indexOf', key) ?? -1)
    } else {
      let missing = wanted.size
      for (let index = 0; index < count && missing > 0; index += 1) {
        const key = this.#ask('keyAt', index)
        if (wanted.get(key) === -1) {
          wanted.set(key, index)
          missing -= 1
        }
      }
    }
    const indices = this.#slots.map((slot) => (slot.index >= 0 ? wanted.get(slot.key) : -1))
    this.#engine.reset(count, indices)
    this.#slots.forEach((slot, place) => { slot.index = indices[place] })
    // What is the same item may have changed all the same, and what could not be loaded may be there now.
    this.#images.forgetFailed()
    for (const slot of this.#slots) if (slot.index >= 0) this.#refill(slot)
  }

  #update(key) {
    // Of a cover without an element there is nothing to fill: a picture that changed has another address.
    const slot = this.#slots.find((each) => each.key === key && each.index >= 0)
    if (slot) this.#refill(slot)
  }

  #refill(slot) {
    this.#fill(slot)
    if (slot.isWanted) this.#loadImage(slot)
    this.#back.update(slot)
    if (slot.key === this.#frontKey) this.#showCaption(slot.index)
  }

  /** What the page says of an item; undefined if it has no such function, or that fails. */
  #ask(name, item) {
    try {
      return this.#source[name]?.(item)
    } catch (error) {
      report(error)
    }
  }

  // Elements.

  #build() {
    const make = (className, parent, tag = 'div') => {
      const element = document.createElement(tag)
      element.className = className
      parent.append(element)
      return element
    }
    instances += 1
    const name = `cf${instances}`
    const host = this.#host
    host.replaceChildren()
    host.classList.add('cf')
    const stage = make('cf-stage', host)
    stage.tabIndex = 0
    stage.setAttribute('role', 'listbox')
    stage.setAttribute('aria-orientation', 'horizontal')
    stage.setAttribute('aria-label', this.#options.label ?? 'Covers')
    // What is in front is told when the focus comes, and after that by announcements only: were the option
    // in front the active descendant, everything would be said twice.
    stage.setAttribute('aria-describedby', `${name}-status`)
    this.#stage = stage
    for (let place = 0; place < this.#engine.slotCount; place += 1) {
      const cover = make('cf-cover', stage)
      cover.id = `${name}-${place}`
      cover.setAttribute('role', 'option')
      cover.setAttribute('aria-selected', 'false')
      const face = make('cf-face', cover)
      const mirror = make('cf-mirror', cover)
      mirror.setAttribute('aria-hidden', 'true')
      const image = make('cf-image', face, 'img')
      const reflection = make('', mirror, 'img')
      for (const each of [image, reflection]) {
        each.alt = ''
        each.draggable = false
        each.decoding = 'sync'
      }
      this.#slots.push({
        place, cover, face, mirror, image, reflection, content: null, key: undefined, index: -1,
        imageID: 0, picture: '', isWanted: false, transform: '', rank: -1, isSeen: false, number: '',
      })
    }
    this.#back = new Back(make('cf-back', host), stage, this.#source, (index) => this.#labelOf(index))
    if (this.#source.title) {
      const caption = make('cf-caption', host)
      caption.setAttribute('aria-hidden', 'true')
      this.#caption = {
        element: caption,
        title: make('cf-title', caption).appendChild(new Text()),
        subtitle: make('cf-subtitle', caption).appendChild(new Text()),
      }
    }
    const status = make('cf-status', host)
    status.id = `${name}-status`
    status.setAttribute('role', 'status')
    status.setAttribute('aria-live', 'polite')
    this.#status = status.appendChild(new Text())
  }

  /** Fills a slot's element with the item that it shows. */
  #fill(slot) {
    const { index } = slot
    try {
      const content = this.#source.cover(index, slot.content)
      if (content !== slot.content) {
        slot.content?.remove()
        slot.face.prepend(content)
        slot.content = content
      }
    } catch (error) {
      slot.content?.remove()
      slot.content = null
      report(error)
    }
    const label = this.#labelOf(index)
    if (label) slot.cover.setAttribute('aria-label', label)
    else slot.cover.removeAttribute('aria-label')
    if (this.#source.tint) slot.cover.style.setProperty('--cf-tint', this.#ask('tint', index) ?? '')
    this.#number(slot)
    // A picture that is there already is shown at once, whatever the speed.
    slot.imageID = this.#images.idOf(slot.key)
    this.#engine.useImage(slot.place, slot.imageID)
    this.#putImage(slot, slot.imageID && this.#images.loaded(slot.imageID, this.#ask('image', index)))
  }

  #number(slot) {
    if (slot.index < 0) return
    const number = `${slot.index + 1} ${this.#engine.count}`
    if (slot.number === number) return
    slot.number = number
    slot.cover.setAttribute('aria-posinset', slot.index + 1)
    slot.cover.setAttribute('aria-setsize', this.#engine.count)
  }

  #labelOf(index) {
    if (this.#source.label) return this.#ask('label', index) ?? ''
    if (!this.#source.title) return ''
    const title = this.#ask('title', index) ?? ''
    const subtitle = this.#ask('subtitle', index)
    return subtitle ? `${title}, ${subtitle}` : title
  }

  #showCaption(index) {
    if (!this.#caption) return
    this.#caption.title.data = index < 0 ? '' : this.#ask('title', index) ?? ''
    this.#caption.subtitle.data = index < 0 ? '' : this.#ask('subtitle', index) ?? ''
  }

  // Images.

  #loadImage(slot) {
    slot.isWanted = true
    const url = this.#ask('image', slot.index)
    if (!url || slot.key === undefined) return
    slot.imageID = this.#images.intern(slot.key, url)
    this.#engine.useImage(slot.place, slot.imageID)
    this.#putImage(slot, this.#images.request(slot.imageID, slot.key, url))
  }

  /** A picture has arrived: it is shown where its item is now, if it is anywhere. */
  #showImage(id, picture) {
    const slot = this.#slots.find((each) => each.imageID === id && each.index >= 0)
    if (!slot) return
    this.#putImage(slot, picture)
    slot.cover.classList.add('cf-fresh')
  }

  /** A picture that could not be loaded is requested again, if its item is on a cover; returns whether it is. */
  #reloadImage(id, forget) {
    const slot = this.#slots.find((each) => each.imageID === id && each.index >= 0)
    forget()
    if (!slot?.isWanted) return false
    this.#loadImage(slot)
    // It may have no picture any more, or there may be no room.
    return this.#images.idOf(slot.key) !== 0
  }

  /** Shows a picture on a cover, or none. */
  #putImage(slot, picture) {
    const url = picture ? picture.src : ''
    if (slot.picture === url) return
    slot.picture = url
    slot.cover.classList.remove('cf-fresh')
    slot.cover.classList.toggle('cf-pictured', url !== '')
    for (const image of [slot.image, slot.reflection]) {
      if (url) image.src = url
      else image.removeAttribute('src')
    }
  }

  // Frames.

  #act(body) {
    body()
    this.#perform()
    this.#schedule()
  }

  #schedule() {
    clearTimeout(this.#timer)
    this.#timer = 0
    if (this.#scheduled) return
    if (this.#engine.needsFrame) {
      this.#scheduled = requestAnimationFrame((now) => {
        this.#scheduled = 0
        this.#draw(now)
      })
      return
    }
    const wake = this.#engine.nextWake
    if (Number.isNaN(wake)) return
    this.#timer = setTimeout(() => this.#draw(performance.now()), Math.max(0, wake - performance.now()))
  }

  #draw(now) {
    const start = this.probe ? performance.now() : 0
    this.#engine.frame(now)
    this.#perform()
    const frames = this.#engine.frames
    const eye = this.#engine.eyeDistance
    let turned = null
    for (const slot of this.#slots) {
      const base = slot.place * 6
      const isUsed = frames[base] >= 0
      const flags = isUsed ? frames[base + 5] : 0
      this.#write(slot, frames, base, eye, flags)
      if (flags & 2) turned = slot
    }
    if (turned) this.#back.show(turned, frames.subarray(turned.place * 6, turned.place * 6 + 6), eye)
    else this.#back.hide()
    this.#schedule()
    if (this.probe) this.probe.frame(now, performance.now() - start)
  }

  /** Writes what differs from the last frame: in motion that is the transform, and little else. */
  #write(slot, frames, base, eye, flags) {
    const style = slot.cover.style
    const isSeen = (flags & 1) !== 0
    if (isSeen !== slot.isSeen) {
      slot.isSeen = isSeen
      slot.cover.classList.toggle('cf-seen', isSeen)
    }
    if (!isSeen) return
    const transform = `perspective(${eye}px) translate3d(${rounded(frames[base + 1])}px,0,`
      + `${rounded(frames[base + 2])}px) rotateY(${rounded(frames[base + 3])}deg)`
    if (transform !== slot.transform) {
      slot.transform = transform
      style.transform = transform
    }
    const rank = frames[base + 4]
    if (rank !== slot.rank) {
      slot.rank = rank
      style.zIndex = 200 - rank
    }
  }

  #perform() {
    this.#engine.takeActions((name, place, index, flag) => {
      const slot = this.#slots[place]
      try {
        switch (name) {
          case 'assign': this.#assign(slot, index); break
          case 'vacate': this.#vacate(slot); break
          case 'load': this.#loadImage(slot); break
          case 'front': this.#front(index); break
          case 'settle': this.#settled(index); break
          case 'announce': this.#describe(index); break
          case 'select': this.#select(index); break
          case 'flip': this.#flipped(index, flag); break
        }
      } catch (error) {
        report(error)
      }
    })
  }

  #assign(slot, index) {
    slot.index = index
    slot.key = this.#ask('keyAt', index)
    slot.isWanted = false
    this.#fill(slot)
  }

  #vacate(slot) {
    slot.index = -1
    slot.key = undefined
    slot.imageID = 0
    slot.isWanted = false
    this.#putImage(slot, null)
    this.#engine.useImage(slot.place, 0)
  }

  #front(index) {
    this.#frontKey = index < 0 ? undefined : this.#ask('keyAt', index)
    const slot = index < 0 ? undefined : this.#slots.find((each) => each.index === index)
    if (slot !== this.#frontSlot) {
      this.#frontSlot?.cover.classList.remove('cf-front')
      this.#frontSlot?.cover.setAttribute('aria-selected', 'false')
      slot?.cover.classList.add('cf-front')
      slot?.cover.setAttribute('aria-selected', 'true')
      this.#frontSlot = slot
    }
    this.#showCaption(index)
  }

  #settled(index) {
    const key = this.#ask('keyAt', index)
    // For whoever comes to the flow with the focus; not a change that is announced.
    if (this.#status.data === '') this.#describe(index)
    if (key === this.#settledKey) return
    this.#settledKey = key
    this.#tell('front', index)
  }

  #describe(index) {
    const slot = this.#slots.find((each) => each.index === index)
    const label = this.#labelOf(index) || slot?.face.textContent.trim() || ''
    const announce = this.#options.announce ?? ((name, n, count) => `${name}, ${n} of ${count}`)
    this.#status.data = announce(label, index + 1, this.#engine.count)
  }

  #select(index) {
    const key = this.#source.keyAt(index)
    const tell = () => { if (this.#source.keyAt(index) === key) this.#tell('select', index) }
    if (this.#source.back) this.#input.select(tell)
    else tell()
  }

  #flipped(index, isFlipped) {
    this.#input.endSelecting()
    if (this.#source.back) this.#tell('flip', index, isFlipped)
    // There is nothing on the other side: it turns back before a frame is drawn.
    else if (isFlipped) this.#engine.flipBack()
  }

  #tell(name, index, ...more) {
    try {
      this.#options.delegate?.[name]?.(this.#source.keyAt(index), index, ...more)
    } catch (error) {
      report(error)
    }
  }

  // Input and size.

  #listen() {
    const { signal } = this.#cleanUp
    this.#input = new Input(
      { host: this.#host, stage: this.#stage, back: this.#back.element }, this.#engine,
      (body) => this.#act(body), signal)
    const motion = matchMedia('(prefers-reduced-motion: reduce)')
    motion.addEventListener(
      'change', () => this.#act(() => this.#engine.reduceMotion(motion.matches ? 1 : 0)), { signal })
    this.#engine.reduceMotion(motion.matches ? 1 : 0)
    this.#observer = new ResizeObserver(() => this.#resize())
    this.#observer.observe(this.#host)
  }

  #resize() {
    const width = this.#host.clientWidth
    const height = this.#host.clientHeight
    if (width === 0 || height === 0) return
    this.#engine.resize(width, height, this.#options.aspect ?? 1)
    const coverHeight = this.#engine.coverHeight
    // Covers, their reflections and the caption in the middle together; whole, so that they are sharp.
    const mirror = Math.round(coverHeight * 0.16)
    const below = Math.max(mirror, this.#caption ? 84 : 0)
    const middle = Math.max(0, Math.round((height - coverHeight - below) / 2)) + coverHeight / 2
    const style = this.#host.style
    style.setProperty('--cf-width', `${this.#engine.coverWidth}px`)
    style.setProperty('--cf-height', `${coverHeight}px`)
    style.setProperty('--cf-mirror', `${mirror}px`)
    style.setProperty('--cf-middle', `${middle}px`)
    style.setProperty('--cf-caption', `${middle + coverHeight / 2 + below - 56}px`)
    this.#input.middle = middle
    this.#schedule()
  }

}

/** To a hundredth, which nobody sees, in a third of the time that `toFixed` takes. */
function rounded(number) { return Math.round(number * 100) / 100 }
