import AmbitCLI
import AmbitHub

// All of it is in a library, as for `ambit`.
await Main.main(AmbitHub.self)
