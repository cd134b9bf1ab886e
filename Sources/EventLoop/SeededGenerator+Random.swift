package import Essentials

extension SeededGenerator {
  /// Another one every time.
  package static func random() -> SeededGenerator { SeededGenerator(seed: .random(in: 0 ... .max)) }
}
