// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

extension SelectorNode {
    /// What indexes can tell of the selector.
    var constraint: QueryConstraint { constraint { IndexComponent($0) } }

    private func constraint(_ component: (PropertyPath) -> IndexComponent) -> QueryConstraint {
        switch self {
        case .all(let nodes): return .all(nodes.map { $0.constraint(component) })
        case .any(let nodes): return .any(nodes.map { $0.constraint(component) })
        case .field(let path, let condition):
            let component = component(path)
            if component.isOfElements { return .inside(component, condition.intervals) }
            guard !path.steps.isEmpty, path != Self.revision, path != Self.deletion,
                path != .conflicts
            else { return .anything }
            return condition.constraint(component)
        }
    }

    private static let revision = PropertyPath(key: "_rev")
    private static let deletion = PropertyPath(key: "_deleted")

    /// What indexes can tell of some element of an array.
    fileprivate func constraint(ofElementsOf path: PropertyPath) -> QueryConstraint {
        constraint { IndexComponent(path, element: $0) }
    }
}

extension SelectorCondition {
    /// What must hold of the document if this is to hold of a property.
    fileprivate func constraint(_ component: IndexComponent) -> QueryConstraint {
        let whole = QueryConstraint.inside(component, intervals)
        let elements = IndexComponent(component.path, element: .itself)
        switch self {
        case .oneOf(let operands) where component.path != .documentID:
            // An array matches by its elements: they are found in an index of elements, too.
            let values = operands.list.map { ValueInterval.exactly($0.value) }
            return .all([
                whole, .any([.inside(component, values), .inside(elements, values)]),
            ])
        case .containsAll(let operands):
            // A single array may also be what the property is.
            guard operands.list.count > 1 || operands.list.allSatisfy({ $0.value.array == nil })
            else {
                return whole
            }
            return .all(
                [whole]
                    + operands.list.map { .inside(elements, [ValueInterval.exactly($0.value)]) })
        case .anyElement(let node), .eachElement(let node):
            return .all([whole, node.constraint(ofElementsOf: component.path)])
        default: return whole
        }
    }

    /// Where the values lie that may fulfil the condition.
    fileprivate var intervals: [ValueInterval] {
        switch self {
        case .less(let operand):
            [.values(from: .open, to: .value(operand.value, isIncluded: false))]
        case .lessOrEqual(let operand):
            [.values(from: .open, to: .value(operand.value, isIncluded: true))]
        case .equal(let operand): [.exactly(operand.value)]
        case .notEqual(let operand): ValueInterval.except(operand.value)
        case .greaterOrEqual(let operand):
            [.values(from: .value(operand.value, isIncluded: true), to: .open)]
        case .greater(let operand):
            [.values(from: .value(operand.value, isIncluded: false), to: .open)]
        case .oneOf(let operands):
            operands.list.isEmpty
                ? [] : operands.list.map { .exactly($0.value) } + [.type(of: .array([]))]
        case .exists(let isWanted): [isWanted ? .present : .missing]
        case .type(let name): [Self.interval(ofType: name)]
        case .remainder: [.type(of: 0)]
        case .pattern: [.type(of: "")]
        case .beginsWith(let bytes): [.prefix(String(decoding: bytes, as: UTF8.self))]
        case .size, .containsAll, .anyElement, .eachElement: [.type(of: .array([]))]
        case .anyKey: [.type(of: .object([:]))]
        case .not, .noneOf: [.present]
        }
    }

    private static func interval(ofType name: String) -> ValueInterval {
        switch name {
        case "null": .type(of: .null)
        case "boolean": .values(from: .type(of: false), to: .type(of: true))
        case "number": .type(of: 0)
        case "string": .type(of: "")
        case "array": .type(of: .array([]))
        default: .type(of: .object([:]))
        }
    }
}
