// The pictures of a cover flow. Which are kept, and for whom one is that arrives, the engine says.

// A browser has six connections to a server by HTTP/1.1. Pictures that don't come must leave some of them to the
// page: to the stream of its view model, to that of another tab, and to what the user does.
const loadCountMax = 3
// Milliseconds until a picture is tried again that could not be loaded, and how far they grow. One tries it, and if it
// comes, all others: some may never come, and a server that was gone has come back.
const [pauseMin, pauseMax] = [4_000, 64_000]

/** Pictures that are loaded or on their way, in as many places as the engine's cache has. */
export class Images {
  #engine
  #arrived
  /** What is in each place of the cache: an id, the key and address that it stands for, and the picture. */
  #places = []
  /** The ids of keys. */
  #ids = new Map()
  #nextID = 1
  /** The entries that are being loaded, and those that wait for one of these to end. */
  #loading = new Set()
  #waiting = new Set()
  /** What loads the picture of a number anew, if it is to be seen, and returns whether it is. */
  #again
  #failureCount = 0
  #pause = 0
  #timer = 0
  #isRetrying = false

  /**
   * @param arrived called with the id and the picture of what may be shown
   * @param again called with the id of a picture that is to be tried again; returns whether it is requested
   */
  constructor(engine, arrived, again) {
    this.#engine = engine
    this.#again = again
    this.#arrived = arrived
  }

  /** The number that stands for a key, 0 if it has none. */
  idOf(key) { return this.#ids.get(key) ?? 0 }

  /** The number that stands for a key with this address from now on. */
  intern(key, url) {
    const known = this.#entry(this.idOf(key))
    if (known && known.url !== url) this.forget(key)
    let id = this.#ids.get(key)
    if (id === undefined) {
      id = this.#nextID
      this.#nextID = (this.#nextID % 0xffff_ffff) + 1
      this.#ids.set(key, id)
    }
    return id
  }

  /** The picture of a number, if it is loaded and has this address. */
  loaded(id, url) {
    const entry = this.#entry(id)
    return entry?.isLoaded && entry.url === url ? entry.picture : null
  }

  /** Asks for a picture: returns it if it is there, and otherwise loads it. */
  request(id, key, url) {
    const { place, ticket } = this.#engine.requestImage(id)
    if (place !== undefined) return this.#places[place].picture
    if (!ticket) {
      // There was no room for it.
      if (!this.#entry(id)) this.#ids.delete(key)
      return null
    }
    this.#drop(ticket.place)
    const entry = { id, key, url, ticket, picture: new Image(), isLoaded: false, failure: 0 }
    entry.isRetry = this.#isRetrying
    this.#places[ticket.place] = entry
    this.#waiting.add(entry)
    this.#loadNext()
    return null
  }

  #loadNext() {
    for (const entry of this.#waiting) {
      if (this.#loading.size >= loadCountMax) return
      this.#waiting.delete(entry)
      this.#loading.add(entry)
      entry.picture.src = entry.url
      entry.picture.decode().then(() => this.#finish(entry, true), () => this.#finish(entry, false))
    }
  }

  #finish(entry, isLoaded) {
    this.#leave(entry)
    // The engine knows whether it still belongs to somebody.
    if (this.#engine.finishImage(entry.ticket, isLoaded) === 0) return
    entry.isLoaded = isLoaded
    if (!isLoaded) {
      entry.failure = this.#failureCount += 1
      return this.#retryLater()
    }
    this.#arrived(entry.id, entry.picture)
    if (!entry.isRetry) return
    this.#pause = 0
    for (const each of this.#failed) this.#retry(each)
  }

  /** The entries that could not be loaded, those that were tried last at the end. */
  get #failed() {
    return this.#places.filter((each) => each?.failure).sort((a, b) => a.failure - b.failure)
  }

  #retryLater() {
    if (this.#timer) return
    this.#pause = Math.min(Math.max(2 * this.#pause, pauseMin), pauseMax)
    this.#timer = setTimeout(() => {
      this.#timer = 0
      this.#isRetrying = true
      this.#failed.some((each) => this.#retry(each))
      this.#isRetrying = false
    }, this.#pause)
  }

  /** Forgets a failure, and returns whether the picture is requested again. */
  #retry(entry) { return this.#again(entry.id, () => this.forget(entry.key)) }

  /** Another one may be loaded in an entry's place. */
  #leave(entry) {
    this.#waiting.delete(entry)
    // Later, because all may be dropped together.
    if (this.#loading.delete(entry)) queueMicrotask(() => this.#loadNext())
  }

  /** Forgets a key's picture, because it changed or its item is gone. */
  forget(key) {
    const id = this.idOf(key)
    if (id === 0) return
    const place = this.#engine.removeImage(id)
    if (place >= 0) this.#drop(place)
    this.#ids.delete(key)
  }

  /** Lets pictures be tried again that could not be loaded. */
  forgetFailed() {
    for (const entry of [...this.#places]) if (entry?.failure) this.forget(entry.key)
  }

  destroy() {
    clearTimeout(this.#timer)
    // None is set any more.
    this.#timer = -1
    this.#waiting.clear()
    this.#places.forEach((_, place) => this.#drop(place))
  }

  #entry(id) { return id === 0 ? undefined : this.#places.find((each) => each?.id === id) }

  #drop(place) {
    const entry = this.#places[place]
    if (!entry) return
    // Ends what is still loading.
    if (!entry.isLoaded) entry.picture.src = ''
    this.#leave(entry)
    if (this.#ids.get(entry.key) === entry.id) this.#ids.delete(entry.key)
    this.#places[place] = null
    // Others may wait for the outcome of this one.
    if (entry.isRetry && !entry.isLoaded && !entry.failure) this.#retryLater()
  }
}
