// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

// The typed setters of the 2.x document API: each sets a property, nil sets JSON null.
extension MutableDocument {
    /// Sets a string.
    public func setString(_ value: String?, forKey key: String) { set(value, forKey: key) }
    /// Sets an integer.
    public func setInt(_ value: Int, forKey key: String) { set(value, forKey: key) }
    /// Sets a 64-bit integer.
    public func setInt64(_ value: Int64, forKey key: String) { set(value, forKey: key) }
    /// Sets a double.
    public func setDouble(_ value: Double, forKey key: String) { set(value, forKey: key) }
    /// Sets a float.
    public func setFloat(_ value: Float, forKey key: String) { set(value, forKey: key) }
    /// Sets a boolean.
    public func setBoolean(_ value: Bool, forKey key: String) { set(value, forKey: key) }
    /// Sets a date, stored as ISO-8601 text in UTC with milliseconds.
    public func setDate(_ value: Date?, forKey key: String) { set(value, forKey: key) }
    /// Sets any JSON value.
    public func setValue(_ value: JSONValue?, forKey key: String) { set(value, forKey: key) }
    /// Sets an array.
    public func setArray(_ value: [JSONValue]?, forKey key: String) { set(value, forKey: key) }
    /// Sets an object.
    public func setDictionary(_ value: JSONObject?, forKey key: String) { set(value, forKey: key) }
}
