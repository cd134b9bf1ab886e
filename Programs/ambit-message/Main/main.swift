import AmbitCLI
import AmbitMessage

// All of it is in a library, as for `ambit`.
await Main.main(AmbitMessage.self)
