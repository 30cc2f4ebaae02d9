// Calls to the server: JSON in, JSON out, one sentence when it went wrong.

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  const token = document.querySelector('meta[name="csrf-token"]')?.content;
  if (token) headers["X-CSRF-Token"] = token;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Failure(0, "The server does not answer. Try again when the connection is back.");
  }
  const value = await answer.json().catch(() => null);
  if (answer.ok && value !== null) return value;
  if (answer.ok) throw new Failure(0, "The answer of the server broke off. Try again.");
  const said = value?.error?.message;
  const unsaid = `The server answered ${answer.status}. Try again in a moment.`;
  throw new Failure(answer.status, said ? sentence(said) : unsaid);
}

export function sentence(message) {
  const begun = message[0].toUpperCase() + message.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);

// Where things are.
export const chat = (name) => `/api/chat/${encodeURIComponent(name)}`;
export const conversation = (name) => `/api/conversations/${encodeURIComponent(name)}`;
