// What the cases use of bun:test, over node:test.
import assert from 'node:assert/strict';
import * as runner from 'node:test';

export const { describe, test, beforeEach, afterEach } = runner;

export function mock(implementation) {
  const mocked = (...given) => {
    mocked.calls.push(given);
    return implementation(...given);
  };
  mocked.calls = [];
  return mocked;
}

function equal(actual, expected) {
  try {
    assert.deepStrictEqual(actual, expected);
    return true;
  } catch {
    return false;
  }
}

export const expect = (actual) => ({
  toBe: (expected) => assert.strictEqual(actual, expected),
  toBeNull: () => assert.strictEqual(actual, null),
  toContain: (part) => assert.ok(actual.includes(part), `${JSON.stringify(actual)} has no ${JSON.stringify(part)}`),
  toHaveLength: (length) => assert.strictEqual(actual.length, length),
  toHaveBeenCalledWith: (...expected) =>
    assert.ok(actual.calls.some((given) => equal(given, expected)), `called with ${JSON.stringify(actual.calls)}`),
});
