// Shows lists of a view model as cover flows, in pages that are bound by `binding.js` of the module
// BindingServer: both have to be served from one folder.
//
//   <div data-covers aria-label="Albums">
//     <template data-row="albums">
//       <article data-attr="data-title:name data-image:picture" data-on="coverselect:play" data-arg="id">
//         <h2 data-text="name"></h2>
//       </article>
//     </template>
//     <template data-row="albums"> … the back of a cover, if there is one … </template>
//   </div>
//   <script type="module" src="cover-flow-binding.js"></script>
//
// What covers say besides their content are attributes of the template's element, bound as all others are:
// data-title, data-subtitle, data-label, data-image, data-tint. What happens to them are events of it, which
// `data-on` takes: coverfront when it came to rest at the front, coverselect, coverflip. The flow's element
// may have data-front, bound to the key of the row that is to be at the front.

import { live } from './binding.js'
import { CoverFlow } from './cover-flow.js'

const says = ['title', 'subtitle', 'label', 'image', 'tint']

/**
 * Shows a list of the view model in an element with templates for its rows.
 *
 * @param {HTMLElement} host
 * @param {import('./cover-flow.js').Options} options
 * @returns {Promise<CoverFlow>}
 */
export async function showCovers(host, options = {}) {
  const [front, back] = host.querySelectorAll('template[data-row]')
  const name = front.dataset.row
  const rows = live.list(name)
  /** The row that each element shows, and the cover of each row. */
  const rowOf = new WeakMap()
  const coverOf = new WeakMap()

  const render = (template) => (index, reused) => {
    const element = reused ?? template.content.firstElementChild.cloneNode(true)
    const row = rows.rowAt(index)
    // What shows a row already follows its changes.
    if (rowOf.get(element) !== row) {
      rowOf.set(element, row)
      live.render(element, name, rows.keyAt(index))
    }
    if (template === front) coverOf.set(row, element)
    return element
  }
  const cover = (index) => {
    const row = rows.rowAt(index)
    const element = row && coverOf.get(row)
    return element && rowOf.get(element) === row ? element : undefined
  }
  const tell = (type) => (_, index, detail) =>
    cover(index)?.dispatchEvent(new CustomEvent(type, { detail }))

  const source = {
    get count() { return rows.count }, keyAt: rows.keyAt, cover: render(front),
    ...(back && { back: render(back) }),
  }
  const said = front.content.firstElementChild.dataset.attr ?? ''
  for (const each of says) {
    if (said.includes(`data-${each}:`)) source[each] = (index) => cover(index)?.dataset[each] ?? ''
  }
  const flow = await CoverFlow.create(host, source, {
    label: host.getAttribute('aria-label') ?? undefined,
    delegate: { front: tell('coverfront'), select: tell('coverselect'), flip: tell('coverflip') },
    ...options,
  })

  // What has changed meanwhile.
  flow.apply([['reset']])

  // The key that the view model wants at the front, until it is there.
  let wanted
  const bring = () => {
    for (let index = 0; wanted !== undefined && index < rows.count; index += 1) {
      if (rows.keyAt(index) !== wanted) continue
      wanted = undefined
      flow.go(index)
    }
  }
  const want = () => {
    wanted = host.dataset.front
    bring()
  }
  let { count } = rows
  rows.subscribe((changes) => {
    // Of rows that come to none the first is at the front, and not the one that was told first.
    flow.apply(count > 0 ? changes : [['reset']])
    count = rows.count
    bring()
  })
  new MutationObserver(want).observe(host, { attributeFilter: ['data-front'] })
  want()
  return flow
}

for (const host of document.querySelectorAll('[data-covers]')) showCovers(host)
