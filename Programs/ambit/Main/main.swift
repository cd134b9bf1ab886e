import AmbitCLI

// All of it is in a library: a package that depends on this one would have to fetch what an executable
// product needs, and tests can import it.
await Main.main()
