// What the page does by itself: keys, and where the focus goes.

const search = document.querySelector('#text')
const detail = document.querySelector('aside')
const pairing = document.querySelector('.veil')
const isTyping = (element) => element.matches('input:not([type=checkbox], [type=range]), select')

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (event.key === '/' && !isTyping(event.target)) {
    event.preventDefault()
    search.focus()
  } else if (event.key === 'Escape') {
    // The question with the focus, which is the one that the key was meant for.
    if (!pairing.hidden) event.target.closest('.pairing')?.querySelector('[type=button]').click()
    else if (event.target !== search && !detail.hidden) detail.querySelector('.head button').click()
  }
})

// What is opened gets the focus, and what it was opened from gets it back.
const follow = (element, target, change = () => {}) => {
  let opener
  let wasHidden = true
  const look = () => {
    if (element.hidden === wasHidden) return
    wasHidden = element.hidden
    change(!element.hidden)
    if (element.hidden) {
      opener?.focus()
    } else {
      opener = document.activeElement
      target().focus()
    }
  }
  new MutationObserver(look).observe(element, { attributeFilter: ['hidden'] })
  // The first values may have come before this script.
  look()
}
// What is open is part of the address, and each opened device or service a step in the browser's history. Back closes it,
// as users of phones expect, and stays on the page; Forward opens it again. `depth` counts the steps since nothing was
// open, to which closing goes back, so that Back leaves the page then.
const flow = document.querySelector('#cf')
const opened = document.querySelector('#opened')
const parameter = () => new URL(location).searchParams.get('open') ?? ''
const address = (id) => {
  const url = new URL(location)
  url.searchParams.delete('open')
  if (id) url.searchParams.set('open', id)
  return url
}
const addStep = () => {
  const isOpen = true
  const depth = (history.state?.depth ?? 0) + 1
  history.pushState({ isOpen, depth }, '', address(flow.dataset.front))
}
const remember = (isOpen) => {
  const wasOpen = Boolean(history.state?.isOpen)
  if (isOpen && !wasOpen) {
    // Also where the page was opened with it, so that there is something to go back to.
    history.replaceState(null, '', address())
    addStep()
  } else if (wasOpen && !isOpen) {
    history.go(-history.state.depth)
  }
}
new MutationObserver(() => {
  const isAnother = flow.dataset.front && flow.dataset.front !== parameter()
  if (!detail.hidden && history.state?.isOpen && isAnother) addStep()
}).observe(flow, { attributeFilter: ['data-front'] })
addEventListener('popstate', () => {
  opened.value = parameter()
  opened.dispatchEvent(new Event('input'))
})
// What isn't nearby was never opened here, and its address would be opened again by the next reload.
document.querySelector('.awaited button').addEventListener('click', () => {
  history.replaceState(history.state, '', address())
})
follow(detail, () => detail.querySelector('h2'), remember)
// Nothing behind a question can be reached.
follow(
  pairing,
  () => pairing.querySelector('input:not([hidden]), button:not([hidden])'),
  (isShown) => {
    for (const each of document.querySelectorAll('header, main, aside')) each.inert = isShown
  })
// Where a question with the focus has gone, no other one gets its keys: Tab goes on to the next.
new MutationObserver(() => {
  if (!pairing.hidden && !pairing.contains(document.activeElement)) pairing.focus()
}).observe(pairing, { childList: true })

// The table has one row with tab stops, that of the focus: arrows go from row to row and along a row.
const body = document.querySelector('tbody')
const controls = (row) => [...row.querySelectorAll('button')]
const enter = (row) => {
  for (const each of body.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1
  if (row) for (const each of controls(row)) each.tabIndex = 0
}
const lookForStops = () => {
  if (!body.querySelector('[tabindex="0"]')) enter(body.querySelector('tr'))
}
new MutationObserver(lookForStops).observe(body, { childList: true })
lookForStops()
body.addEventListener('focusin', (event) => enter(event.target.closest('tr')))
body.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  const row = event.target.closest('tr')
  if (!row) return
  const column = controls(row).indexOf(event.target)
  const rows = body.rows
  const step = getComputedStyle(body).direction === 'rtl' ? -1 : 1
  const targets = {
    ArrowUp: () => controls(rows[row.sectionRowIndex - 1] ?? row)[column],
    ArrowDown: () => controls(rows[row.sectionRowIndex + 1] ?? row)[column],
    ArrowLeft: () => controls(row)[column - step],
    ArrowRight: () => controls(row)[column + step],
    Home: () => controls(rows[0])[column],
    End: () => controls(rows[rows.length - 1])[column],
  }
  if (!Object.hasOwn(targets, event.key)) return
  event.preventDefault()
  targets[event.key]()?.focus()
})
