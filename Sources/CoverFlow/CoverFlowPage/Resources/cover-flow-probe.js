// What scripts see that measure a cover flow: `window.__cf`, of the element with the id `cf`, in a page that
// was opened with `?probe`. It is there once the first frame is drawn.
//
//   n         number: how many items there are
//   position  number: the place of the middle among the covers; 2.5 is between the third and the fourth
//   velocity  number: covers per second; while a finger drags, how fast it moves (least squares over its
//             places of the last 100 ms), and from its release on, that of the glide
//   mode      string: 'rest', 'drag', 'settle' or 'scroll'
//   target    number: the index where the motion ends
//   to(i)     brings an item to the front, as a click on it does
//   fling(v)  lets the covers glide as if a finger had let go at v covers per second
//   jump(i)   brings an item to the front without a motion
//   log       array of {t, position, velocity, mode, event}: one for each frame, t being its time in
//             milliseconds, and one with the event's name for each press and release of a finger. The last
//             20,000; may be emptied with `log.length = 0`
//   stats     object: counts since the beginning or `reset()`: frames drawn; ours, the milliseconds that our
//             script took in a frame {mean, p99, max}; interval, the milliseconds between frames in motion
//             {mean, p99, max}, and missed, how many took more than 25 ms; elements in the flow, covers of
//             them; assignments and loads of covers; images kept and their bound
//   visible   array of {index, key, x, z, angle, rank, zIndex, element}: the covers that are seen, the one
//             nearest to the middle first
//   ready     true
//   reset()   empties log and stats

const logMax = 20_000

/** Makes `window.__cf` for a flow. */
export function attachProbe(flow, engine) {
  const log = []
  let ours = []
  let intervals = []
  let last = 0
  const note = (t, event) => {
    if (log.length >= logMax) log.splice(0, logMax / 2)
    log.push({ t, position: engine.position, velocity: engine.velocity, mode: engine.mode, event })
  }
  flow.probe = {
    frame(now, cost) {
      note(now, 'frame')
      keep(ours, cost)
      // An interval counts if something moved at both of its ends.
      if (last > 0 && engine.mode !== 'rest') keep(intervals, now - last)
      last = engine.needsFrame || engine.mode === 'drag' ? now : 0
    },
  }
  for (const type of ['pointerdown', 'pointerup']) {
    flow.element.addEventListener(type, () => note(performance.now(), type))
  }
  const covers = () => flow.element.querySelectorAll('.cf-cover')
  window.__cf = {
    get n() { return engine.count },
    get position() { return engine.position },
    get velocity() { return engine.velocity },
    get mode() { return engine.mode },
    get target() { return engine.target },
    to: (index) => flow.go(index),
    fling: (velocity) => flow.fling(velocity),
    jump: (index) => flow.jump(index),
    log,
    get stats() {
      return {
        frames: ours.length,
        ours: summary(ours),
        interval: summary(intervals),
        missed: intervals.filter((each) => each > 25).length,
        elements: flow.element.querySelectorAll('*').length,
        covers: covers().length,
        assignments: engine.assignmentCount,
        loads: engine.loadCount,
        images: engine.imageCount,
        imageCapacity: engine.imageCapacity,
      }
    },
    get visible() {
      const frames = engine.frames
      return [...covers()]
        .map((element, place) => {
          const [index, x, z, angle, rank, flags] = frames.subarray(place * 6, place * 6 + 6)
          const zIndex = Number(element.style.zIndex)
          return { index, key: flow.keyIn(place), x, z, angle, rank, zIndex, isSeen: flags & 1, element }
        })
        .filter((each) => each.index >= 0 && each.isSeen)
        .sort((a, b) => a.rank - b.rank)
    },
    ready: true,
    reset() {
      log.length = 0
      ours = []
      intervals = []
    },
  }
}

function keep(values, value) {
  if (values.length >= logMax) values.splice(0, logMax / 2)
  values.push(value)
}

function summary(values) {
  if (values.length === 0) return { mean: 0, p99: 0, max: 0 }
  const sorted = [...values].sort((a, b) => a - b)
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length
  return { mean, p99: sorted[Math.floor((sorted.length - 1) * 0.99)], max: sorted.at(-1) }
}
