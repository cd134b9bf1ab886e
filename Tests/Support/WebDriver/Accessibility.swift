/// A node of the tree that screen readers see, without those that they skip.
public struct AccessibilityNode: Sendable {
  /// Such as `button`, `textbox`, `listbox`; Chromium's own roles begin with a capital letter.
  public var role: String
  /// The accessible name, which a screen reader speaks.
  public var name: String
  /// The accessible description, spoken in addition.
  public var description: String
  /// What a field has in it.
  public var value: String
  /// States and properties by their names: `disabled`, `focused`, `checked`, `live`, `posinset`.
  public var properties: [String: String]
  /// The nodes in it.
  public var children: [AccessibilityNode]

  /// This node and all below it, in the order of reading.
  public var all: [AccessibilityNode] { [self] + children.flatMap(\.all) }

  /// The first node with a role and, if one is given, a name.
  public func first(_ role: String, _ name: String? = nil) -> AccessibilityNode? {
    all.first { $0.role == role && (name == nil || $0.name == name) }
  }

  /// One line for each node, indented, for comparing and for failures.
  public var outline: String { outline(indentation: "") }

  private func outline(indentation: String) -> String {
    let line = indentation + role + (name.isEmpty ? "" : " \"\(name)\"")
    return ([line] + children.map { $0.outline(indentation: indentation + "  ") })
      .joined(separator: "\n")
  }
}

extension Browser {
  /// The tree that screen readers see of the selected tab.
  public func accessibilityTree() async throws -> AccessibilityNode {
    try await devTools("Accessibility.enable")
    let answer: Nodes = try await devTools("Accessibility.getFullAXTree")
    let byID = Dictionary(answer.nodes.map { ($0.nodeId, $0) }) { first, _ in first }
    guard let root = answer.nodes.first,
      let tree = tree(of: root, in: byID, depth: 0).first
    else { throw WebDriverError(code: "no tree", message: "the page has nothing to be read") }
    return tree
  }

  /// The node, or its children where it is one that screen readers skip.
  private func tree(
    of node: Node, in nodes: [String: Node], depth: Int
  ) -> [AccessibilityNode] {
    // Deeper than any page; keeps recursion within the stack.
    guard depth < 200 else { return [] }
    let children = (node.childIds ?? []).compactMap { nodes[$0] }
      .flatMap { tree(of: $0, in: nodes, depth: depth + 1) }
    let role = node.role?.text ?? ""
    guard !node.ignored, role != "InlineTextBox" else { return children }
    let properties = (node.properties ?? []).map { ($0.name, $0.value.text) }
    return [
      AccessibilityNode(
        role: role, name: node.name?.text ?? "", description: node.description?.text ?? "",
        value: node.value?.text ?? "",
        properties: Dictionary(properties) { first, _ in first }, children: children)
    ]
  }

  private struct Nodes: Decodable { var nodes: [Node] }

  private struct Node: Decodable {
    var nodeId: String
    var ignored: Bool
    var role: Value?
    var name: Value?
    var description: Value?
    var value: Value?
    var properties: [Property]?
    var childIds: [String]?
  }

  private struct Property: Decodable {
    var name: String
    var value: Value
  }

  /// A string, a number or a boolean, as text.
  private struct Value: Decodable {
    var text: String

    private enum CodingKeys: CodingKey { case value }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      if let string = try? container.decode(String.self, forKey: .value) {
        text = string
      } else if let bool = try? container.decode(Bool.self, forKey: .value) {
        text = bool ? "true" : "false"
      } else if let number = try? container.decode(Double.self, forKey: .value) {
        text = Int(exactly: number).map(String.init) ?? String(number)
      } else {
        text = ""
      }
    }
  }
}
