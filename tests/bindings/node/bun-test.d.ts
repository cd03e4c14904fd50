// As much of bun:test as the cases use, for the type checker.
declare module 'bun:test' {
  export function describe(name: string, body: () => void): void;
  export function test(name: string, body: () => void | Promise<void>): void;
  export function beforeEach(body: () => void): void;
  export function afterEach(body: () => void): void;
  export function mock<T>(implementation: T): T;
  export function expect(actual: unknown): {
    toBe(expected: unknown): void;
    toBeNull(): void;
    toContain(part: string): void;
    toHaveLength(length: number): void;
    toHaveBeenCalledWith(...expected: unknown[]): void;
  };
}

interface ImportMeta {
  readonly dir: string;
}
