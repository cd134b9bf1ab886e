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
  let wasHidden = element.hidden
  new MutationObserver(() => {
    if (element.hidden === wasHidden) return
    wasHidden = element.hidden
    change(!element.hidden)
    if (element.hidden) {
      opener?.focus()
    } else {
      opener = document.activeElement
      target().focus()
    }
  }).observe(element, { attributeFilter: ['hidden'] })
}
follow(detail, () => detail.querySelector('h2'))
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
