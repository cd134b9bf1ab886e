import AmbitApps
import AmbitCLI

// All of it is in a library, as for `ambit`.
await Main.main(AmbitApps.self)
