// Ten thousand albums that don't exist, in a cover flow. In the page's address:
//   ?n=500      so many albums
//   ?cards      covers of text, without pictures
//   ?list       the list that is shown without WebAssembly
//   ?probe      window.__cf, for scripts that measure

import { CoverFlow } from '../../Sources/CoverFlow/CoverFlowPage/Resources/cover-flow.js'

const parameters = new URLSearchParams(location.search)
const count = Number(parameters.get('n') ?? 10_000)

const adjectives = ['Quiet', 'Electric', 'Northern', 'Paper', 'Golden', 'Distant', 'Hollow', 'Velvet', 'Open', 'Broken', 'Slow', 'Silver']
const nouns = ['Harbour', 'Signals', 'Gardens', 'Machines', 'Letters', 'Rivers', 'Windows', 'Engines', 'Islands', 'Mornings', 'Lanterns', 'Maps']
const people = ['Ada Weir', 'The Lantern Club', 'Mirador', 'Nils & Orla', 'Kestrel Row', 'Field Recorder', 'June Harrow', 'Parallel Lines']
const songs = ['Overture', 'Second Light', 'Tin Roof', 'Long Way Down', 'Meridian', 'After the Rain', 'Static', 'Home']

/** A whole number that looks like chance and is the same every time. */
function scatter(value, below) {
  let z = (value + 0x9e3779b9) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return ((z ^ (z >>> 15)) >>> 0) % below
}

function album(id) {
  const adjective = adjectives[scatter(id * 3, adjectives.length)]
  const noun = nouns[scatter(id * 3 + 1, nouns.length)]
  return {
    id, name: `${adjective} ${noun}`, artist: people[scatter(id * 3 + 2, people.length)],
    hue: scatter(id * 7, 360), year: 1960 + scatter(id * 11, 65),
  }
}

/** The address of an album's picture, drawn for its number. */
function picture({ id, hue }) {
  const at = (salt, below) => scatter(id * 61 + salt, below)
  const tone = (turn, saturation, lightness) => `hsl(${(hue + turn + 360) % 360} ${saturation}% ${lightness}%)`
  const second = [24, -32, 150][at(1, 3)]
  const ink = tone(second, 70, 82)
  const shapes = [
    // A sun over the sea.
    () => `<circle cx="${90 + at(2, 120)}" cy="${110 + at(3, 40)}" r="${48 + at(4, 36)}" fill="${ink}"/>`
      + [0, 1, 2, 3].map((each) => `<rect y="${176 + each * 18}" width="300" height="${11 - each * 2}" fill="${tone(0, 60, 20)}" opacity=".55"/>`).join(''),
    // Arcs.
    () => [0, 1, 2, 3, 4].map((each) => `<circle cx="${at(5, 2) * 300}" cy="190" r="${40 + each * 38}" fill="none" stroke="${tone(second, 64, 84 - each * 11)}" stroke-width="17"/>`).join(''),
    // Hills.
    () => [0, 1, 2].map((each) => `<path d="M0 ${150 + each * 34} C ${60 + at(each + 6, 60)} ${70 + each * 50}, ${150 + at(each + 9, 70)} ${230 + each * 20}, 300 ${120 + each * 46} V300 H0z" fill="${tone(second * each / 2, 52, 62 - each * 15)}"/>`).join(''),
    // A grid of dots.
    () => Array.from({ length: 25 }, (_, each) => `<circle cx="${50 + (each % 5) * 50}" cy="${40 + Math.floor(each / 5) * 40}" r="${5 + at(each + 12, 14)}" fill="${at(each, 3) ? ink : tone(second, 60, 56)}"/>`).join(''),
    // Strips.
    () => [0, 1, 2, 3, 4, 5].map((each) => `<path d="M${each * 56 - 60} 0 h${16 + at(each + 20, 26)} l120 300 h-60z" fill="${tone(second, 58, 40 + each * 8)}" opacity=".8"/>`).join(''),
  ]
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" width="600" height="600">`
    + `<defs><linearGradient id="g" x2="0" y2="1"><stop stop-color="${tone(0, 58, 42)}"/><stop offset="1" stop-color="${tone(second / 2, 62, 18)}"/></linearGradient></defs>`
    + `<rect width="300" height="300" fill="url(#g)"/>${shapes[at(0, 5)]()}`
    + `</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/** The source of a flow: a list of ids. */
class Albums {
  constructor(ids) { this.ids = ids }
  get count() { return this.ids.length }
  keyAt(index) { return this.ids[index] }
  at(index) { return album(this.ids[index]) }
  label(index) { return `${this.at(index).name}, ${this.at(index).artist}` }
  tint(index) { return `hsl(${this.at(index).hue} 45% 34%)` }

  cover(index, reused) {
    const { id, name, artist } = this.at(index)
    const cover = reused ?? makeCard()
    // Text nodes are written to and not made: there are no more of them in motion than at rest.
    cover.texts[0].data = `${id + 1}`
    cover.texts[1].data = name
    cover.texts[2].data = artist
    return cover
  }

  back(index, reused) {
    const { id, name, artist, year } = this.at(index)
    const details = reused ?? document.createElement('div')
    details.className = 'details'
    const heading = document.createElement('h2')
    heading.textContent = name
    const line = document.createElement('p')
    line.textContent = `${artist}, ${year}`
    const list = document.createElement('ol')
    list.append(...songs.slice(0, 4 + scatter(id, 5)).map((song) => {
      const item = document.createElement('li')
      item.textContent = song
      return item
    }))
    details.replaceChildren(heading, line, list)
    return details
  }
}

function makeCard() {
  const card = document.createElement('div')
  card.className = 'album'
  card.texts = ['number', 'name', 'artist'].map((className) => {
    const line = document.createElement('div')
    line.className = className
    card.append(line)
    return line.appendChild(new Text())
  })
  return card
}

const albums = new Albums(Array.from({ length: count }, (_, id) => id))
if (!parameters.has('cards')) {
  albums.title = (index) => albums.at(index).name
  albums.subtitle = (index) => albums.at(index).artist
  // Pictures of covers that fly past are not asked for; those that were drawn are kept for a while.
  const pictures = new Map()
  albums.image = (index) => {
    const id = albums.ids[index]
    if (!pictures.has(id)) {
      if (pictures.size >= 256) pictures.delete(pictures.keys().next().value)
      pictures.set(id, picture(album(id)))
    }
    return pictures.get(id)
  }
}

const flow = await CoverFlow.create(document.getElementById('cf'), albums, {
  label: 'Albums',
  list: parameters.has('list'),
  delegate: {
    front: (key) => document.documentElement.setAttribute('data-front', key),
    select: (key) => document.documentElement.setAttribute('data-selected', key),
    flip: (key, _, isFlipped) => document.documentElement.setAttribute('data-flipped', isFlipped ? key : ''),
  },
})
// For whoever tries things out in the console, and for tests.
Object.assign(window, { flow, albums })
