import AmbitCLI

/// The pictures of covers: drawn, one for each kind and colour, since nothing nearby sends any.
enum CoverPicture {
  /// The number of different hues.
  private static let hueCount = 24
  private static let folder = "picture/"

  /// The path of an item's picture. The same item has the same colour whenever it comes.
  static func path(of item: NearbyItem) -> String {
    // FNV-1a: what Swift hashes with differs from run to run.
    let hash = item.id.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    return "\(folder)\(item.kind.rawValue.lowercased())-\(Int(hash % UInt32(hueCount))).svg"
  }

  /// The picture at a path; nil if no picture has this path.
  static func svg(at path: String) -> String? {
    guard path.hasPrefix(folder), path.hasSuffix(".svg") else { return nil }
    let parts = path.dropFirst(folder.count).dropLast(4).split(
      separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = Int(parts[1]), (0..<hueCount).contains(number),
      let kind = NearbyItem.Kind.allCases.first(where: { $0.rawValue.lowercased() == parts[0] })
    else { return nil }
    let hue = number * 360 / hueCount
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 320" width="320" height="320">
      <defs><linearGradient id="g" x1="0" y1="0" x2="0.4" y2="1">
      <stop offset="0" stop-color="hsl(\(hue) 62% 46%)"/>
      <stop offset="1" stop-color="hsl(\((hue + 40) % 360) 70% 20%)"/>
      </linearGradient></defs>
      <rect width="320" height="320" fill="url(#g)"/>
      <g fill="none" stroke="#fff" stroke-width="13" stroke-linecap="round" stroke-linejoin="round">
      \(shape(of: kind))
      </g></svg>
      """
  }

  private static func shape(of kind: NearbyItem.Kind) -> String {
    switch kind {
    case .device:
      // Two arcs to each side of a case with a lamp.
      """
      <rect x="118" y="92" width="84" height="136" rx="20"/><path d="M150 204h20"/>
      <path d="M88 124a62 62 0 0 0 0 72M232 124a62 62 0 0 1 0 72"/>
      <path d="M60 100a104 104 0 0 0 0 120M260 100a104 104 0 0 1 0 120"/>
      """
    case .beacon:
      """
      <circle cx="160" cy="160" r="18" fill="#fff"/><circle cx="160" cy="160" r="56"/>
      <circle cx="160" cy="160" r="96" opacity=".6"/>
      """
    case .service:
      """
      <circle cx="160" cy="160" r="92"/><ellipse cx="160" cy="160" rx="40" ry="92"/>
      <path d="M72 132h176M72 188h176"/>
      """
    }
  }
}
