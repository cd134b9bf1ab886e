// Which screen is on top the view model says, in data-screen. The browser's Back is the button's, and
// the focus goes to the screen that comes to the top.

const order = ['search', 'results', 'photo']
let depth = 0
// How often the history is moved by this script: what it says then is nobody's wish.
let ours = 0

const top = () => document.querySelector(`main.${order[depth]}`)
const back = () => top().querySelector('.back')?.click()
const place = () => history.state ?? 0
const move = (steps) => {
  ours += 1
  history.go(steps)
}

history.replaceState(0, '')

new MutationObserver(() => {
  const next = Math.max(0, order.indexOf(document.body.dataset.screen))
  if (next === depth) return
  while (depth < next) history.pushState((depth += 1), '')
  depth = next
  if (place() > depth) move(depth - place())
  // Somebody has gone back by more than one.
  else if (place() < depth) back()
  const screen = top()
  const target = ['input', '[role=listbox]', 'h1'].map((each) => screen.querySelector(each))
  target.find(Boolean)?.focus({ preventScroll: true })
}).observe(document.body, { attributeFilter: ['data-screen'] })

addEventListener('popstate', () => {
  if (ours > 0) ours -= 1
  else if (place() < depth) back()
  // Forward leads to what is closed by now.
  else if (place() > depth) move(depth - place())
})

// Before the flow, which takes the key for the back of a cover.
addEventListener(
  'keydown',
  (event) => {
    const isTurned = depth === 1 && document.querySelector('.cf-back.cf-seen')
    if (event.key !== 'Escape' || event.repeat || depth === 0 || isTurned) return
    event.preventDefault()
    event.stopPropagation()
    back()
  },
  { capture: true },
)
