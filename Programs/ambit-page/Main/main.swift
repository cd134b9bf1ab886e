import AmbitCLI
import AmbitPage

// All of it is in a library, as for `ambit`.
await Main.main(AmbitPage.self)
