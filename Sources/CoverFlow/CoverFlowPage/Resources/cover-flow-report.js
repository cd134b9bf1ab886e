/** A mistake of the page's own functions must not stop the covers: it is told, and they go on. */
export function report(error) {
  globalThis.reportError ? reportError(error) : console.error(error)
}
