// SPDX-License-Identifier: Apache-2.0

import { isObject } from "../core/json.js";

/**
 * The position in a row: properties lat and lon, lat and lng, latitude and longitude, or a GeoJSON point, at most three
 * objects deep.
 *
 * @param {any} value
 * @param {number} [depth]
 * @returns {{ lat: number, lon: number } | null}
 */
export function positionOf(value, depth = 0) {
  if (!isObject(value) || depth > 3) return null;
  const [lon, lat] = value.type === "Point" && Array.isArray(value.coordinates) ? value.coordinates
    : [value.lon ?? value.lng ?? value.longitude, value.lat ?? value.latitude];
  if (Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180) return { lat, lon };
  for (const one of Object.values(value)) {
    const found = positionOf(one, depth + 1);
    if (found) return found;
  }
  return null;
}
