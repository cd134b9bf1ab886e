// The list that a cover flow becomes without WebAssembly: the same source, the same methods.

import { report } from './cover-flow-report.js'

const windowSize = 200
const margin = 600
let instances = 0

export class CoverList {
  #host
  #list
  #source
  #options
  #name
  /** The elements of items by key, of those that there are elements for. */
  #items = new Map()
  /** Elements that show nothing now, to be filled anew. */
  #spare = []
  #start = 0
  #active = 0
  /** The key of the item whose details are shown, and their element, which stays to be filled anew. */
  #opened
  #details
  #cleanUp = new AbortController()

  constructor(element, source, options) {
    this.#host = element
    this.#source = source
    this.#options = options
    instances += 1
    this.#name = `cfl${instances}`
    element.classList.add('cf', 'cf-list')
    const list = document.createElement('ul')
    list.tabIndex = 0
    list.setAttribute('role', 'listbox')
    list.setAttribute('aria-label', options.label ?? 'Covers')
    this.#list = list
    element.replaceChildren(list)
    const on = (target, type, handler) =>
      target.addEventListener(type, handler, { signal: this.#cleanUp.signal })
    on(list, 'keydown', (event) => this.#key(event))
    on(list, 'click', (event) => this.#click(event))
    on(list, 'dblclick', (event) => { if (this.#indexOf(event.target) >= 0) this.flip() })
    on(element, 'scroll', () => this.#scrolled())
    this.#render()
    this.#tell('front')
  }

  get index() { return this.#source.count > 0 ? this.#active : -1 }
  get key() { return this.#source.count > 0 ? this.#source.keyAt(this.#active) : undefined }
  get element() { return this.#host }
  get isFlipped() { return this.#opened !== undefined }

  /** Makes an item the selected one, and shows it. */
  go(index) {
    const count = this.#source.count
    if (count === 0) return
    const wanted = Number.isNaN(index) ? 0 : Math.max(0, Math.min(count - 1, index))
    if (wanted === this.#active && this.#items.size > 0) return this.#show()
    this.#active = wanted
    this.#close()
    this.#show()
    this.#tell('front')
  }

  jump(index) { this.go(index) }
  step(covers) { this.go(this.#active + covers) }
  fling() {}

  /** Shows the details of the selected item below it, or hides them. */
  flip() {
    const key = this.key
    if (key === undefined) return
    const wasOpen = this.#opened === key
    this.#close()
    if (wasOpen || !this.#source.back || !this.#items.has(key)) return
    this.#opened = key
    this.#showDetails(this.#items.get(key))
    this.#items.get(key).scrollIntoView({ block: 'nearest' })
    this.#tell('flip', true)
  }

  apply(changes) {
    const key = this.#activeKey
    const before = this.#active
    this.#active = this.#find(key, before, changes)
    if (changes.some(([kind]) => kind !== 'update')) this.#render()
    for (const [kind, changed] of changes) {
      if (kind === 'reset') for (const item of this.#items.values()) this.#fill(item)
      if (kind === 'update' && this.#items.has(changed)) this.#fill(this.#items.get(changed))
    }
    if (this.#activeKey !== key) this.#tell('front')
  }

  destroy() {
    this.#cleanUp.abort()
    this.#host.classList.remove('cf', 'cf-list')
    this.#host.replaceChildren()
  }

  #activeKey

  /** Where the selected item is after changes; if it is gone, the index that it had. */
  #find(key, before, changes) {
    const { count, indexOf } = this.#source
    if (count === 0 || key === undefined) return 0
    let index = before
    let isGone = false
    for (const [kind, , a, b] of changes) {
      if (kind === 'insert' && a <= index) index += 1
      if (kind === 'remove') {
        if (a === index) isGone = true
        else if (a < index) index -= 1
      }
      if (kind === 'move') {
        if (a === index) index = b
        else if (a < index && index <= b) index -= 1
        else if (b <= index && index < a) index += 1
      }
    }
    index = Math.min(index, count - 1)
    if (isGone || this.#source.keyAt(index) === key) return index
    if (indexOf) index = Math.max(-1, this.#source.indexOf(key))
    else for (index = count - 1; index >= 0 && this.#source.keyAt(index) !== key;) index -= 1
    return index >= 0 ? index : Math.min(before, count - 1)
  }

  #close() {
    if (this.#opened === undefined) return
    this.#details?.remove()
    this.#opened = undefined
    this.#tell('flip', false)
  }

  // Elements: for so many items around what is looked at.

  #render() {
    const { count } = this.#source
    const size = Math.min(count, windowSize)
    this.#start = Math.max(0, Math.min(this.#start, count - size))
    if (count > 0 && (this.#active < this.#start || this.#active >= this.#start + size)) {
      this.#start = Math.max(0, Math.min(this.#active - windowSize / 2, count - size))
    }
    this.#draw(size)
  }

  #draw(size) {
    const { count } = this.#source
    const keys = Array.from({ length: size }, (_, place) => this.#source.keyAt(this.#start + place))
    const wanted = new Set(keys)
    if (this.#opened !== this.key) this.#close()
    for (const [key, item] of this.#items) {
      if (wanted.has(key)) continue
      if (key === this.#opened) this.#details.remove()
      this.#spare.push(item)
    }
    const kept = new Map()
    for (const [place, key] of keys.entries()) {
      const index = this.#start + place
      const item = this.#items.get(key) ?? this.#make(index)
      kept.set(key, item)
      item.id = `${this.#name}-${index}`
      item.setAttribute('aria-posinset', index + 1)
      item.setAttribute('aria-setsize', count)
      item.setAttribute('aria-selected', index === this.#active)
    }
    // What is looked at stays where it is.
    const { scrollTop } = this.#host
    const seen = [...this.#items].find(
      ([key, item]) => kept.get(key) === item && item.offsetTop + item.offsetHeight > scrollTop)?.[1]
    const offset = seen ? seen.offsetTop - scrollTop : 0
    this.#items = kept
    const rows = [...kept.values()]
    const { children } = this.#list
    // What stays where it is keeps the focus that is in it.
    if (rows.length !== children.length || rows.some((row, place) => row !== children[place])) {
      this.#list.replaceChildren(...rows)
    }
    if (seen) this.#host.scrollTop = seen.offsetTop - offset
    this.#activeKey = this.key
    if (count > 0) this.#list.setAttribute('aria-activedescendant', `${this.#name}-${this.#active}`)
    else this.#list.removeAttribute('aria-activedescendant')
  }

  /** An element for an item: one that showed another, or a new one. */
  #make(index) {
    const item = this.#spare.pop() ?? this.#row()
    item.setAttribute('aria-posinset', index + 1)
    this.#fill(item)
    return item
  }

  #row() {
    const item = document.createElement('li')
    item.setAttribute('role', 'option')
    const face = document.createElement('div')
    face.className = 'cf-row'
    item.append(face)
    return item
  }

  /** Fills an element with the item that it is for. */
  #fill(item) {
    const index = Number(item.getAttribute('aria-posinset')) - 1
    const face = item.firstElementChild
    const content = face.querySelector(':scope > :not(.cf-thumb)')
    try {
      const filled = this.#source.cover(index, content)
      if (filled !== content) {
        content?.remove()
        face.prepend(filled)
      }
    } catch (error) {
      content?.remove()
      report(error)
    }
    if (this.#source.tint) item.style.setProperty('--cf-tint', this.#source.tint(index))
    this.#showThumb(face, this.#source.image?.(index))
    const label = this.#source.label?.(index) ?? this.#source.title?.(index)
    if (label) item.setAttribute('aria-label', label)
    else item.removeAttribute('aria-label')
    if (this.#source.keyAt(index) === this.#opened) this.#showDetails(item)
  }

  #showThumb(face, url) {
    const thumb = face.querySelector(':scope > .cf-thumb')
    if (!url) return thumb?.remove()
    if (thumb?.getAttribute('src') === url) return
    // A new one: the picture before is not shown until this one is there.
    const image = document.createElement('img')
    Object.assign(image, { className: 'cf-thumb', alt: '', loading: 'lazy', src: url })
    thumb?.remove()
    face.append(image)
  }

  #showDetails(item) {
    try {
      const filled = this.#source.back(this.#active, this.#details ?? null)
      if (filled !== this.#details) this.#details?.remove()
      this.#details = filled
      item.append(filled)
    } catch (error) {
      report(error)
    }
  }

  #show() {
    this.#render()
    this.#items.get(this.#activeKey)?.scrollIntoView({ block: 'nearest' })
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#host
    const { count } = this.#source
    const size = Math.min(count, windowSize)
    let start = this.#start
    if (scrollTop < margin) start -= windowSize / 4
    else if (scrollTop + clientHeight > scrollHeight - margin) start += windowSize / 4
    start = Math.max(0, Math.min(start, count - size))
    if (start === this.#start) return
    this.#start = start
    this.#draw(size)
  }

  // Input.

  #key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return
    const presses = {
      ArrowDown: () => this.step(1), ArrowRight: () => this.step(1),
      ArrowUp: () => this.step(-1), ArrowLeft: () => this.step(-1),
      PageDown: () => this.step(10), PageUp: () => this.step(-10),
      Home: () => this.go(0), End: () => this.go(Infinity),
      Enter: () => this.flip(), ' ': () => this.#tell('select'), Escape: () => this.#close(),
    }
    if (event.target !== this.#list || !Object.hasOwn(presses, event.key)) return
    event.preventDefault()
    presses[event.key]()
  }

  #click(event) {
    const index = this.#indexOf(event.target)
    if (index < 0) return
    if (index === this.#active) this.#tell('select')
    else this.go(index)
  }

  #indexOf(target) {
    if (target.closest('a, button, input, select, textarea')) return -1
    const item = target.closest('li')
    return item ? Number(item.getAttribute('aria-posinset')) - 1 : -1
  }

  #tell(name, ...more) {
    if (this.#source.count === 0) return
    try {
      this.#options.delegate?.[name]?.(this.key, this.#active, ...more)
    } catch (error) {
      report(error)
    }
  }
}
