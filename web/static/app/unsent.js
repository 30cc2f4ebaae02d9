// Messages that could not be sent: this tab keeps them until they are sent or discarded.

const place = (name) => `unsent:${name}`;

export function unsent(name) {
  return JSON.parse(sessionStorage.getItem(place(name)) ?? "[]");
}

function put(name, all) {
  if (all.length) sessionStorage.setItem(place(name), JSON.stringify(all));
  else sessionStorage.removeItem(place(name));
}

export function keep(message) {
  forget(message);
  try {
    put(message.name, [...unsent(message.name), message]);
  } catch {
    // Files are more than a tab may keep: then the message stays as long as the page does.
  }
}

export function forget({ name, key }) {
  put(
    name,
    unsent(name).filter((one) => one.key !== key),
  );
}
