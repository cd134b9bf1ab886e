package import Essentials

extension SeededGenerator {
  /// A generator with a random seed.
  package static func random() -> SeededGenerator { SeededGenerator(seed: .random(in: 0 ... .max)) }
}
