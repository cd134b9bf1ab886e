#if Messaging
  /// What an entity is and can do (XEP-0030): the request, if it is empty, and the answer.
  package struct DiscoInfo: XMPPExtension {
    package struct Identity: Hashable, Sendable {
      package var category: String
      package var type: String
      package var name: String?

      package init(category: String, type: String, name: String? = nil) {
        self.category = category
        self.type = type
        self.name = name
      }
    }

    package var node: String?
    package var identities: [Identity]
    package var features: [String]
    package var forms: [DataForm]

    package init(
      node: String? = nil, identities: [Identity] = [], features: [String] = [],
      forms: [DataForm] = []
    ) {
      self.node = node
      self.identities = identities
      self.features = features
      self.forms = forms
    }

    package init?(_ element: XMLElement) {
      guard element.has("query", Namespace.discoInfo) else { return nil }
      node = element["node"]
      identities = []
      features = []
      forms = []
      for child in element.children {
        if child.has("identity", Namespace.discoInfo), let category = child["category"],
          let type = child["type"]
        {
          identities.append(Identity(category: category, type: type, name: child["name"]))
        } else if child.has("feature", Namespace.discoInfo), let feature = child["var"] {
          features.append(feature)
        } else if let form = DataForm(child) {
          forms.append(form)
        }
      }
    }

    package var element: XMLElement {
      let identities = identities.map { identity in
        XMLElement(
          "identity", Namespace.discoInfo,
          ["category": identity.category, "type": identity.type, "name": identity.name])
      }
      let features = features.map { XMLElement("feature", Namespace.discoInfo, ["var": $0]) }
      return XMLElement(
        "query", Namespace.discoInfo, ["node": node],
        children: identities + features + forms.map(\.element))
    }

    /// The text whose SHA-1 digest, in base64, is the verification string of XEP-0115, §5.1.
    package var verificationText: String {
      func sorted(_ texts: [String]) -> [String] {
        texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      }
      var text = sorted(identities.map { "\($0.category)/\($0.type)//\($0.name ?? "")<" }).joined()
      text += sorted(features).map { $0 + "<" }.joined()
      let formTexts = forms.map { form in
        let fields = sorted(
          form.fields.filter { $0.name != "FORM_TYPE" }.map { field in
            "\(field.name)<" + sorted(field.values).map { $0 + "<" }.joined()
          })
        return "\(form.type ?? "")<" + fields.joined()
      }
      return text + sorted(formTexts).joined()
    }
  }

  /// A form (XEP-0004), as far as programs exchange them.
  package struct DataForm: XMPPExtension {
    package struct Field: Hashable, Sendable {
      package var name: String
      package var values: [String]
      package var isHidden: Bool

      package init(_ name: String, _ values: [String], isHidden: Bool = false) {
        self.name = name
        self.values = values
        self.isHidden = isHidden
      }
    }

    package enum Kind: String, Hashable, Sendable { case form, submit, cancel, result }

    package var kind: Kind
    package var fields: [Field]

    package init(_ kind: Kind, type: String? = nil, fields: [Field] = []) {
      self.kind = kind
      self.fields = fields
      if let type { self.fields.insert(Field("FORM_TYPE", [type], isHidden: true), at: 0) }
    }

    package init?(_ element: XMLElement) {
      guard element.has("x", Namespace.forms),
        let kind = element["type"].flatMap({ Kind(rawValue: $0) })
      else { return nil }
      self.kind = kind
      fields = element.children.compactMap { field in
        guard field.has("field", Namespace.forms), let name = field["var"] else { return nil }
        let values = field.children.filter { $0.has("value", Namespace.forms) }.map(\.text)
        return Field(name, values, isHidden: field["type"] == "hidden")
      }
    }

    package var element: XMLElement {
      XMLElement(
        "x", Namespace.forms, ["type": kind.rawValue],
        children: fields.map { field in
          XMLElement(
            "field", Namespace.forms, ["var": field.name, "type": field.isHidden ? "hidden" : nil],
            children: field.values.map { XMLElement("value", Namespace.forms, text: $0) })
        })
    }

    /// The first value of a field.
    package subscript(_ name: String) -> String? {
      fields.first { $0.name == name }?.values.first
    }

    /// The value of `FORM_TYPE` (XEP-0068).
    package var type: String? { self["FORM_TYPE"] }
  }

  /// The hash of a client's abilities, in its presence (XEP-0115).
  package struct Capabilities: XMPPExtension {
    /// A name for the program, as a URI.
    package var node: String
    /// The hash of ``DiscoInfo/verificationText``, in base64.
    package var verification: String
    /// The name of the hash function.
    package var hash: String

    package init(node: String, verification: String, hash: String = "sha-1") {
      self.node = node
      self.verification = verification
      self.hash = hash
    }

    package init?(_ element: XMLElement) {
      guard element.has("c", Namespace.capabilities), let node = element["node"],
        let verification = element["ver"], let hash = element["hash"]
      else { return nil }
      self.init(node: node, verification: verification, hash: hash)
    }

    package var element: XMLElement {
      XMLElement(
        "c", Namespace.capabilities, ["hash": hash, "node": node, "ver": verification])
    }
  }
#endif
